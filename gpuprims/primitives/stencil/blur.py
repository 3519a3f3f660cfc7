"""blur: means of a cross or of a box, and Gaussian weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Unpack, get_args, overload

import numpy as np
from numpy.typing import NDArray

from gpuprims.core.determinism import Level, at_level
from gpuprims.core.device import Device
from gpuprims.core.keywords import is_one_of, keywords_of, named_keywords, refuse_keywords
from gpuprims.core.lazy import call_by_chunks
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import Out as Written
from gpuprims.core.variant import Variant
from gpuprims.core.warm_calls import AS_GIVEN, WarmCalls
from gpuprims.errors import ArgumentError, DtypeError, LazyArrayError, did_you_mean, quoted
from gpuprims.primitives.signatures import Array, BlurKeywords, Element, Host, HostArray, Out
from gpuprims.primitives.stencil.calls import bind_stencil, run
from gpuprims.primitives.stencil.request import StencilRequest
from gpuprims.primitives.stencil.spec import Mode
from gpuprims.primitives.stencil.weights import of_box, of_cross, of_normal

Kind = Literal["cross", "box", "gaussian"]
# Wider neighbourhoods are refused before their weights are computed.
_WIDEST, _LARGEST_SIGMA = 2**16, 2**13
_WARM, _AS_GIVEN = WarmCalls(), AS_GIVEN | {float}


@overload
def blur(
    image: NDArray[Element], kind: Kind = "cross", *, out: None = None, **keywords: Unpack[BlurKeywords]
) -> NDArray[Element]: ...
@overload
def blur(image: Host, kind: Kind = "cross", *, out: None = None, **keywords: Unpack[BlurKeywords]) -> HostArray: ...
@overload
def blur(image: Array, kind: Kind = "cross", *, out: None = None, **keywords: Unpack[BlurKeywords]) -> Array: ...
@overload
def blur(image: Any, kind: Kind = "cross", *, out: Out, **keywords: Unpack[BlurKeywords]) -> Out: ...


@named_keywords
def blur(
    image: Any,
    kind: Kind = "cross",
    *,
    size: int | tuple[int, int] | None = None,
    sigma: float | tuple[float, float] | None = None,
    mode: Mode = "nearest",
    cval: Any = 0,
    channel_axis: int | None = None,
    iterations: int = 1,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
    determinism: Level | None = None,
    **unknown: Any,
) -> Any:
    """Blur images: each pixel becomes a mean of its neighbourhood.

    Parameters
    ----------
    image : array_like
        Real numbers; the last axes are rows and columns. Images along further axes are blurred separately; filters of
        :mod:`gpuprims.ndimage`, such as ``gaussian_filter``, blur along all of them.
    kind : {"cross", "box", "gaussian"}, default "cross"
        The mean of a pixel and its four neighbours, the mean of all pixels in a box, or Gaussian weights.
    size : int or (int, int), optional
        Rows and columns of the box, both odd; by default 3.
    sigma : float or (float, float), optional
        Standard deviation of Gaussian weights along rows and columns, in pixels; by default 1. Weights end after four
        standard deviations.
    mode : {"nearest", "reflect", "mirror", "wrap", "constant"}, default "nearest"
        How the image continues beyond its borders; see :func:`gpuprims.stencil`.
    cval : scalar, default 0
        The pixel beyond the borders in mode "constant".
    channel_axis : int, optional
        The axis of channels, which are blurred separately: -1 for an image of shape (rows, columns, 3).
    iterations : int, default 1
        How many times to blur.
    out : array, optional
        Where to write; it must not overlap ``image``.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.
    determinism : {"none", "run", "device", "order"}, optional
        The level of determinism; see :func:`gpuprims.use_determinism`.

    Returns
    -------
    array
        An array of the shape and dtype of ``image``. Means of integers are truncated towards zero, once, at the end.
        Means of a cross or a box are exact for all integers. Gaussian means of 8 bits are exact, except that a mean
        within 1/256 of the next integer becomes that integer. Gaussian means of 16 bits (in float32) and of 32 bits (in
        float64) are off by 1 at most; of 64 bits (in float64) they keep 53 bits. A Gaussian mean saturates if rounding
        takes it beyond the dtype's range.

    Raises
    ------
    ArgumentError, ShapeError, AxisError, DtypeError
        An unknown kind or mode, a size that is even or above 65,536, a standard deviation that is not positive or is
        above 8,192, or a size or a standard deviation with a kind that does not use it.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.stencil`; also Gaussian blurs of 32- and 64-bit integers on a device without float64.

    Notes
    -----
    Box and Gaussian blurs apply a row of weights and then a column: in one kernel if the rows fit in registers or in
    local memory, else in two. So the cost grows with the width, not with its square. Sums of 64-bit integers do not fit
    in 64 bits, so kernels sum their high and low halves, which takes two to four times as long.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> image = np.zeros((3, 4), np.uint8)
    >>> image[1, 1] = 100
    >>> gpuprims.blur(image, device="reference")
    array([[ 0, 20,  0,  0],
           [20, 20, 20,  0],
           [ 0, 20,  0,  0]], dtype=uint8)
    """
    if unknown:
        refuse_keywords("blur", keywords_of(blur), unknown)
    if determinism is not None:
        named: dict[str, Any] = {"size": size, "sigma": sigma, "mode": mode, "cval": cval}
        named |= {"channel_axis": channel_axis, "iterations": iterations}
        return at_level("blur", determinism, blur, image, kind, out=out, device=device, variant=variant, **named)
    key, numbers = None, (size, sigma, channel_axis, iterations)
    if type(cval) is int and all(type(number) in _AS_GIVEN for number in numbers):
        key, arrays, run_again = _WARM.find_into((kind, mode, cval, *numbers, variant), (image,), out, device)
        if run_again is not None:
            return run_again(arrays)
    how = (kind, size, sigma, mode, cval, channel_axis, iterations)
    try:
        bound = bind_blur((image,), *how, out=out, device=device, variant=variant)
    except LazyArrayError as found:
        named = {"size": size, "sigma": sigma, "mode": mode, "cval": cval}
        named |= {"channel_axis": channel_axis, "iterations": iterations}
        return call_by_chunks(found, "blur", image, kind, out=out, device=device, variant=variant, **named)
    return run(*bound, partial(_WARM.keep, key))


def bind_blur(
    arrays: tuple[Any, ...],
    kind: Any = "cross",
    size: Any = None,
    sigma: Any = None,
    mode: Any = "nearest",
    cval: Any = 0,
    channel_axis: Any = None,
    iterations: Any = 1,
    out: Any = None,
    device: str | Device | None = None,
    variant: str | Variant | None = None,
) -> tuple[Operands, StencilRequest, Written | None, str | Variant | None]:
    """Find the device and the stencil of a call; takes the keywords of ``blur``, the kind also among ``arrays``."""
    image, kind = arrays if len(arrays) == 2 else (*arrays, kind)
    operands = as_operands("blur", (image,), device)
    element = operands.natives[0].dtype
    if element.kind not in "iuf":
        raise DtypeError(f"blur: real numbers; got dtype {element}")
    known = is_one_of(kind, get_args(Kind))
    for name, given, owner in (("size", size, "box"), ("sigma", sigma, "gaussian")):
        if given is not None and known and kind != owner:
            raise ArgumentError(f'blur: {name}= with kind="{owner}" alone; got kind={quoted(kind)}')
    if known and kind == "cross":
        stencil = of_cross(element)
    elif known and kind == "box":
        stencil = of_box(*map(int, _pair("size", 3 if size is None else size, _is_odd, "odd whole", _WIDEST)), element)
    elif known and kind == "gaussian":
        down, across = _pair("sigma", 1.0 if sigma is None else sigma, _is_positive, "positive", _LARGEST_SIGMA)
        stencil = of_normal(float(down), float(across), element)
    else:
        hint = did_you_mean(kind, get_args(Kind), {"mean": "box", "average": "box", "gauss": "gaussian"})
        if isinstance(kind, int | float):
            hint = f' (write kind="gaussian", sigma={kind})'
        raise ArgumentError(f"blur: kind= among {', '.join(get_args(Kind))}; got {quoted(kind)}{hint}")
    return bind_stencil(operands, stencil, mode, cval, channel_axis, iterations, out, variant)


def _pair(name: str, given: Any, holds: Callable[[Any], bool], rule: str, most: int) -> tuple[Any, Any]:
    """Return a number for rows and one for columns, both checked."""
    found = tuple(given) if isinstance(given, tuple | list) else (given, given)
    if len(found) != 2:
        hint = " (ndimage.gaussian_filter and ndimage.uniform_filter take one for each of any number of axes)"
        rule = f"blur: {name}= a number, or one for rows and one for columns; got {quoted(given)}"
        raise ArgumentError(rule + (hint if isinstance(given, tuple | list) and len(given) > 2 else ""))
    if not all(map(holds, found)):
        hint = f" (write {given + 1})" if type(given) is int and given > 0 else ""
        raise ArgumentError(f"blur: {name}= {rule} numbers; got {quoted(given)}{hint}")
    if max(found) > most:
        raise ArgumentError(f"blur: {name}= of at most {most:,}; got {quoted(given)}")
    return found


def _is_odd(size: Any) -> bool:
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    return whole and bool(size >= 1 and size % 2)


def _is_positive(sigma: Any) -> bool:
    number = isinstance(sigma, int | float | np.number) and not isinstance(sigma, bool)
    return number and bool(0 < sigma < np.inf)
