"""random: random numbers that depend only on a key and an index."""

from __future__ import annotations

from typing import Any, Unpack, overload

import numpy as np
import numpy.typing as npt

from gpuprims.core.device import Device
from gpuprims.core.keywords import keywords_of, named_keywords, refuse_keywords
from gpuprims.core.launch_plan import find_plan
from gpuprims.core.plans import planner
from gpuprims.core.primitive import Primitive
from gpuprims.core.warm_calls import WarmCalls
from gpuprims.primitives.philox.plan import Kind, bind, key_beside, key_words, plan_call, sample
from gpuprims.primitives.philox.variants import VARIANTS
from gpuprims.primitives.signatures import Array, HostArray, Out, RandomKeywords, Shape

PRIMITIVE = Primitive(
    *("philox", VARIANTS, plan_call, sample),
    tuning_case=f"{__name__}.tuning_case",
    tuned=False,
    plans={"random": planner("random", bind, plan_call, positional=("shape", "kind"))},
)
_WARM = WarmCalls()


@overload
def random(
    key: Any, shape: Shape | None = None, kind: Kind = "uniform", *, out: Out, **keywords: Unpack[RandomKeywords]
) -> Out: ...
@overload
def random(
    key: int | tuple[int, int], shape: Shape, kind: Kind = "uniform", **keywords: Unpack[RandomKeywords]
) -> HostArray: ...
@overload
def random(key: Array, shape: Shape, kind: Kind = "uniform", **keywords: Unpack[RandomKeywords]) -> Array: ...


@named_keywords
def random(
    key: Any,
    shape: Shape | None = None,
    kind: Kind = "uniform",
    *,
    dtype: npt.DTypeLike | None = None,
    low: int | None = None,
    high: int | None = None,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    **unknown: Any,
) -> Any:
    """Return random numbers that depend only on a key and an index, with the same bits on every device.

    Parameters
    ----------
    key : int, tuple of two int, or array of two uint64
        From 0 to 2^64 - 1, or a key and the number of a stream. Each pair gives different numbers. If the key is an
        array on a device, so is the result.
    shape : int or tuple of int, optional
        The shape of the result; by default that of ``out``.
    kind : {"uniform", "normal", "bits", "integers"}, default "uniform"
        Numbers in [0, 1); standard normal numbers; random words; integers from ``low`` to ``high - 1``.
    dtype : dtype, optional
        float64, the default, or float32; of words uint64 or uint32; of integers int64 or any other integer dtype. With
        ``out``, its dtype by default.
    low, high : int, optional
        The range of integers, from 0 by default; at most 2^32 integers.
    out : array, optional
        Where to write, in any layout, on the host or on a device. By default a new array.
    device : str or Device, optional
        Where to compute, for keys and results on the host.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array
        ``out``, or a new array: NumPy's for a key of the host, else of the library of ``key``.

    Raises
    ------
    ArgumentError, DtypeError, ShapeError
        A key, range, dtype or shape that is not allowed.
    DeviceMismatchError, NoVariantError
        As :func:`gpuprims.map`.

    Notes
    -----
    The words come from Philox 4x32-10 [1]_. Its counter holds the index of a block of four words, and the stream. A
    float32 or a 32-bit word takes one word, other numbers two. A longer result begins with the numbers of a shorter
    one.

    Uniform numbers are multiples of 2^-24 or 2^-53. The probability of an integer differs from ``1 / (high - low)`` by
    at most a 2^32-th of that. Normal numbers come in pairs, by the method of Box and Muller [2]_: a word gives the
    distance from the origin of the plane, and the next word the direction. Their logarithm, sine and cosine consist of
    additions, products, quotients and roots, so they have NumPy's bits wherever :func:`gpuprims.map` does. They reach
    6.7 in float32 and 9.4 in float64. Errors are below 3e-7 and 6e-16 of the distance.

    References
    ----------
    .. [1] J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
    .. [2] G. E. P. Box, M. E. Muller, "A note on the generation of random normal deviates", 1958.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> gpuprims.random(7, 3, dtype=np.float32, device="reference")
    array([0.9545971 , 0.7501522 , 0.11417735], dtype=float32)
    >>> gpuprims.random((7, 1), (2, 4), "integers", low=1, high=7, device="reference")
    array([[2, 2, 6, 3],
           [4, 5, 3, 3]])
    """
    if unknown:
        refuse_keywords("random", keywords_of(random), unknown)
    words = key if hasattr(key, "shape") else key_words(key)
    if out is not None and type(words) is np.ndarray:
        words = key_beside(words, out)
    keywords = shape, kind, dtype, low, high, variant
    found, given, run = _WARM.find_into(keywords, (words,), out, device)
    if run is not None:
        return run(given)
    operands, request, result, chosen = bind((words,), shape, kind, dtype, low, high, out, device, variant)
    plan = find_plan(plan_call, operands, request, result, chosen)
    if operands.natives[0] is words:
        _WARM.keep(found, plan, operands, out=result)
    return plan.run(operands, result)
