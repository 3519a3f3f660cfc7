"""map: a function of each element, of one array or of several that broadcast together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gpuprims.arrays import Operands, as_operands
from gpuprims.definitions import Definitions, value_words
from gpuprims.device import Device
from gpuprims.driver import Launch
from gpuprims.errors import ArgumentError
from gpuprims.expressions import Expr, TypedExpr, expression, trace, typed
from gpuprims.layout import Form, broadcast_shapes, plan_layout
from gpuprims.registry import REGISTRY, Call

Dtypes = tuple[np.dtype[Any], ...]


def map(  # noqa: A001 - the primitive's name in every library of its kind
    fn: Any, /, *arrays: Any, device: str | Device | None = None, variant: str | None = None, **named: Any
) -> Any:
    """Apply a function to each element.

    Parameters
    ----------
    fn : callable or str
        A Python function of elements, in which operators, NumPy ufuncs, ``np.where`` and ``np.clip`` work, or the same
        as a string: ``"where(x > 0, sqrt(x), -y)"``. A tuple returned gives several results.
    *arrays : array_like
        One for each parameter; they broadcast together. A string's names are bound in order of first appearance.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.
    **named : array_like
        Arrays bound to the parameters of these names.

    Returns
    -------
    array or tuple of arrays
        Of the same library as the first array that is not NumPy's, C-contiguous, of the dtype that NumPy gives.

    Raises
    ------
    ExpressionError
        A function that cannot be traced, or a string outside the whitelist.
    ArgumentError
        Arrays that do not match the function's parameters, or each other's shapes.
    DtypeError
        Arrays of objects, strings, dates or complex numbers.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.map("2*x + 1", np.arange(4), device="reference")
    array([1, 3, 5, 7])
    >>> gpuprims.map(lambda x, y: np.hypot(x, y), np.float32([3, 5]), np.float32([4, 12]), device="reference")
    array([ 5., 13.], dtype=float32)
    """
    if not arrays and not named:
        raise ArgumentError("map: at least one array; got none")
    expr = expression(fn, len(arrays) + len(named))
    operands = as_operands("map", bind("map", expr, arrays, named), device)
    results = [operands.finish(result) for result in _run(expr, operands, variant)]
    scalars = [result[()] if isinstance(result, np.ndarray) and result.ndim == 0 else result for result in results]
    return scalars[0] if expr.single else tuple(scalars)


def bind(label: str, expr: Expr, arrays: Sequence[Any], named: dict[str, Any]) -> list[Any]:
    """Put positional and named arrays in the order of the function's parameters."""
    left = [name for name in expr.parameters if name not in named]
    unknown = [name for name in named if name not in expr.parameters]
    if unknown:
        raise ArgumentError(f"{label}: keywords of its own or among {expr.parameters}; got {', '.join(unknown)}")
    if len(left) != len(arrays):
        raise ArgumentError(f"{label}: one array for each of ({', '.join(left)}); got {len(arrays)}")
    bound = dict(zip(left, arrays, strict=True)) | named
    return [bound[name] for name in expr.parameters]


def _run(expr: Expr, operands: Operands, variant: str | None) -> list[Any]:
    plan = _plan(expr, operands.forms, operands.device, variant, REGISTRY.generation)
    results = [operands.empty(plan.shape, dtype) for dtype in plan.dtypes]
    if plan.launch is not None:
        views = [*operands.views, *(operands.view(result) for result in results)]
        plan.launch([view.memory for view in views])
    return results


class _Plan(NamedTuple):
    """What is decided about a call before its memory is known."""

    shape: tuple[int, ...]
    dtypes: Dtypes
    launch: Launch | None


@lru_cache(maxsize=1024)
def _plan(expr: Expr, forms: tuple[Form, ...], device: Device, variant: str | None, generation: int) -> _Plan:
    shape = broadcast_shapes("map", [form.shape for form in forms])
    dtypes = tuple(form.dtype for form in forms)
    function, finish = _typed_map(expr, dtypes)
    size = math.prod(shape)
    steps = tuple(step.dtype for step in function.steps)
    call = Call((*dtypes, *steps), 1, size, value_bytes=4 * value_words(function.dtypes))
    chosen = device.select("map", call, variant)
    if not size:
        return _Plan(shape, function.dtypes, None)
    layout = plan_layout(forms, shape, range(len(shape)))
    vector = layout.vector_width(forms, function.dtypes) if chosen.vectors else 1
    inputs = layout.accesses(dtypes)
    definitions = Definitions(inputs, function.dtypes, function.dtypes, function, finish, vector=vector)
    groups = chosen.groups(-(-size // chosen.tile), device.capabilities)
    return _Plan(shape, function.dtypes, device.kernel(chosen, definitions).prepare(groups, layout.pack(1), size))


def _typed_map(expr: Expr, dtypes: Dtypes) -> tuple[TypedExpr, TypedExpr]:
    """Type the function, and the step that hands its values to the outputs unchanged."""
    function = typed(_ignoring_index(expr), (*dtypes, np.dtype(np.int64)))
    n = len(function.dtypes)
    finish = trace(lambda *values: values[:n], n + 1)
    return function, typed(finish, (*function.dtypes, np.dtype(np.int64)))


def _ignoring_index(expr: Expr) -> Expr:
    """Give a function the index that every kernel's map is called with."""
    return trace(lambda *given: expr(*given[:-1]), len(expr.parameters) + 1)
