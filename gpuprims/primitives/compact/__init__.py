"""compact: the elements that a mask keeps, in their order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import Prepared, Result
from gpuprims.core.layout import Form, contiguous
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.primitive import Primitive
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import DtypeError, ExpressionError, ShapeError, quoted
from gpuprims.expressions import Expr, expression, trace, typed
from gpuprims.operators import Folding, find_op
from gpuprims.primitives.compact.variants import VARIANTS
from gpuprims.primitives.prefix import ScanPlanner

PRIMITIVE = Primitive("compact", VARIANTS)

_INT64 = np.dtype(np.int64)


def compact(x: Any, mask: Any, *, device: str | Device | None = None, variant: str | None = None) -> Any:
    """Return the elements that a mask keeps, in their order, as ``x[mask]`` does.

    Parameters
    ----------
    x : array_like
        Of any shape; its elements are taken in C order.
    mask : array_like of bool, callable or str
        Which elements to keep: an array of the shape of ``x``, or a function of an element, as in
        :func:`gpuprims.map`, such as ``"x > 0"``, which is applied on the way in and never stored.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, of compact's own or of :func:`gpuprims.scan`'s, instead of the best one.

    Returns
    -------
    array
        Of one dimension and the dtype of ``x``, of the same library as the first array that is not NumPy's. On a
        device it is the beginning of an array as long as ``x``.

    Raises
    ------
    ShapeError, DtypeError
        A mask of another shape than ``x``, or not of bools.
    ArrayError, DeviceMismatchError, ExpressionError, NoVariantError
        As :func:`gpuprims.scan`.

    Notes
    -----
    An exclusive scan of the mask, 1 where an element is kept, counts the kept ones before each element, which is the
    place of that element in the result (Blelloch, Prefix sums and their applications, CMU-CS-90-190, 1990). The scan
    is never stored: each kept element is written to its place instead. The call waits for the number of them.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.float32([3, -1, 4, -1, 5])
    >>> gpuprims.compact(x, "x > 0", device="reference")
    array([3., 4., 5.], dtype=float32)
    >>> gpuprims.compact(x, np.array([True, True, False, False, True]), device="reference")
    array([ 3., -1.,  5.], dtype=float32)
    """
    predicate: Expr | None = None
    if callable(mask) or isinstance(mask, str):
        predicate = expression(mask, 1)
        if len(predicate.parameters) != 1 or not predicate.single:
            raise ExpressionError(f"compact: a mask from one element to one truth; got {quoted(mask)}")
    elif isinstance(mask, bool):  # which beside an array would be a number of its dtype
        mask = np.asarray(mask)
    operands = as_operands("compact", (x,) if predicate else (x, mask), device)
    where = (
        operands.forms,
        operands.fresh_alignment,
        operands.device,
        asked_by_name("compact", variant),
        REGISTRY.generation,
    )
    prepared = _prepare(predicate, *where)
    kept, (total, read) = operands.empty(*prepared.results[0]), _landing(operands)
    prepared.start(operands, [kept, total])
    count = read() if prepared.launch else 0
    return operands.finish(operands.cut(kept, 0, (count,)))


def _landing(operands: Operands) -> tuple[Any, Callable[[], Any]]:
    """Return an array for the number of elements kept, and a function that waits for it."""
    if not operands.in_place:
        return operands.driver.scalar(_INT64)
    total = np.empty((), _INT64)

    def read() -> Any:
        operands.driver.synchronize()
        return total.item()

    return total, read


@keeps_calls()
def _prepare(
    predicate: Expr | None,
    forms: tuple[Form, ...],
    alignment: int,
    device: Device,
    variant: str | None,
    generation: int,
) -> Prepared:
    shape, size = forms[0].shape, math.prod(forms[0].shape)
    if predicate is None:
        if forms[1].dtype != np.bool_:
            raise DtypeError(f"compact: a mask of dtype bool, or a function; got {forms[1].dtype}")
        if forms[1].shape != shape:
            raise ShapeError(f"compact: a mask of the array's shape, {shape}; got {forms[1].shape}")
    results = Result((size,), forms[0].dtype), Result((), _INT64)
    targets = contiguous(forms[0].dtype, shape, alignment), Form(_INT64, shape, (0,) * len(shape), 0, alignment)
    rank = np.dtype(np.int32) if size < 2**31 else _INT64
    folding, place = _ranking(predicate, tuple(form.dtype for form in forms), rank)
    axes = tuple(range(len(shape)))
    words = value_words([forms[0].dtype])

    def planner(primitive: str) -> ScanPlanner:
        return ScanPlanner(
            device,
            forms,
            targets,
            folding,
            shape,
            axes,
            commutative=True,
            inclusive=False,
            place=place,
            packed=True,
            primitive=primitive,
            item_words=words if primitive == "compact" else None,
            counted=1 - size,
        )

    own = planner("compact")
    named = {known.name for known in REGISTRY.variants("compact", device.backend)}
    chosen = device.explain("compact", own.call()).chosen if variant is None else variant in named
    return (own if chosen else planner("scan")).prepare(variant, results)


def _ranking(predicate: Expr | None, arrays: tuple[np.dtype[Any], ...], rank: np.dtype[Any]) -> tuple[Folding, Any]:
    """Return the scan that ranks kept elements, and where each goes; the number left is 0 at the last element."""

    def keeps(elements: tuple[Any, ...]) -> Any:
        return (elements[-1] if predicate is None else predicate(*elements)) != 0

    def results(before: Any, left: Any, *elements: Any) -> Any:
        return elements[0], before + np.where(keeps(elements), 1, 0)

    def places(before: Any, left: Any, *elements: Any) -> Any:
        return np.where(keeps(elements), before, -1), np.where(left == 0, 0, -1)

    counted, outputs = (rank, _INT64, *arrays), (arrays[0], _INT64)
    n = len(arrays)
    folding = Folding(
        values=(rank,),
        outputs=outputs,
        map=typed(trace(lambda *given: keeps(given[:-1]), n + 1), (*arrays, _INT64), (rank,)),
        op=typed(find_op("sum").fold, (rank, rank), (rank,)),
        finish=typed(trace(results, n + 2), counted, outputs),
        identity=(rank.type(0),),
    )
    return folding, typed(trace(places, n + 2), counted, (_INT64, _INT64))
