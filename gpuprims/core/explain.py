"""explain: the variant that a call would run, and why others would not."""

from __future__ import annotations

from typing import Any

from gpuprims.core.determinism import Level, at_level
from gpuprims.core.device import Device, pick_device
from gpuprims.core.keywords import check_flags
from gpuprims.core.launch_plan import LaunchPlan, Sample
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Explanation
from gpuprims.errors import ArgumentError, did_you_mean, quoted
from gpuprims.expressions import computable
from gpuprims.operators import Op


def explain(
    primitive: str,
    device: str | Device | None = None,
    *,
    dtype: Any = "float32",
    size: int = 2**20,
    outputs: int = 1,
    side_by_side: bool = False,
    op: str | Op = "sum",
    bins: int = 256,
    determinism: Level | None = None,
) -> Explanation:
    """Return which variant of a primitive a device would run, and why others refuse.

    Parameters
    ----------
    primitive : str
        The name of a primitive, or of a function that one of them computes, such as ``"random"``. The error for any
        other name lists the primitives. A primitive that also runs kernels of another lists its own first.
    device : str or Device, optional
        By default the device that host arrays go to.
    dtype : dtype, default float32
        Dtype of the array.
    size : int, default 2**20
        Elements of the array, or of each output if there are several; samples; elements of a sparse row.
    outputs : int, default 1
        Outputs of a call along an axis; parts of an array; features of a sample; rows of a sparse matrix.
    side_by_side : bool, default False
        True if neighbouring outputs read neighbouring elements, as the columns of a matrix do.
    op : str or Op, default "sum"
        The operator of a fold.
    bins : int, default 256
        The number of bins.
    determinism : {"none", "run", "device", "order"}, optional
        The level of determinism that the call asks for; see :func:`gpuprims.use_determinism`.

    Returns
    -------
    Explanation
        Prints as a list, with the level that each variant reaches for the call; ``.chosen`` is the variant.

    Examples
    --------
    >>> import gpuprims
    >>> print(gpuprims.explain("reduce", "reference"))  # doctest: +ELLIPSIS
    reduce on reference:0, ...:
      chosen  numpy          rank 0   device Fold lanes of fixed blocks, ...
    """
    known = REGISTRY.primitive(computed_by(primitive))
    if known is None:
        names = REGISTRY.primitive_names
        rooms = filter(None, map(REGISTRY.primitive, names))
        functions = [name for room in rooms for name in room.plans]
        hint = did_you_mean(primitive, names) or did_you_mean(primitive, functions)
        raise ArgumentError(f"explain: a primitive among {', '.join(names)}; got {quoted(primitive)}{hint}")
    numbers: list[tuple[str, Any, int]] = [("size", size, 0), ("outputs", outputs, 1), ("bins", bins, 1)]
    for name, number, least in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise ArgumentError(f"explain: {name}= a whole number from {least} on; got {quoted(number)}")
    check_flags("explain", side_by_side=side_by_side)
    element, found = computable(dtype, "explain"), pick_device(None, device)
    call = Sample(found, element, size, outputs, side_by_side, op, bins)
    plan: LaunchPlan = (
        known.sample(call) if determinism is None else at_level("explain", determinism, known.sample, call)
    )
    return plan.explanation


def computed_by(function: Any) -> str:
    """Return the primitive that computes a function of another name, such as argsort; any other name unchanged."""
    names = REGISTRY.primitive_names
    if not isinstance(function, str) or function in names:
        return function  # type: ignore[no-any-return]  # no name is refused later
    rooms = filter(None, map(REGISTRY.primitive, names))
    return next((room.name for room in rooms if function in room.plans), function)
