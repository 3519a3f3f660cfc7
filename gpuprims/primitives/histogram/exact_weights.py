"""Sums of float weights that are exact, and so the same on every device and for any order of the elements.

Weights are integers of units of the lowest bit of the smallest one. A histogram adds their bits as integers, one
plane after another, and the sums of all planes give the exact sum of a bin, which is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any

import numpy as np

from gpuprims.core.arrays import native_of
from gpuprims.core.determinism import asks_for_device
from gpuprims.core.device import Device
from gpuprims.core.keywords import check_flags
from gpuprims.core.lazy import is_lazy
from gpuprims.errors import ArgumentError, NoVariantError
from gpuprims.expressions import Expr, trace
from gpuprims.expressions.bits import bits_of
from gpuprims.operators.exact_words import Format, added_words, format_of, rounded_words
from gpuprims.primitives.histogram.calls import as_density, weighed
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.signatures import OpName

# So many weights of a plane's bits add up without loss, as int64 of 32 bits, and as float64 of 21.
_MOST = 2**31
_BITS = {np.dtype(np.int64): 32, np.dtype(np.int32): 21}


def adds_exactly(x: Any, weights: Any, deterministic: Any, label: str, *, as_floats: bool) -> bool:
    """Return True if a call at the level "device" or "order" adds floats, as ``as_floats`` also 64-bit integers are.

    Arrays that compute later add those of their chunks.
    """
    if not asks_for_device() or is_lazy(x) or is_lazy(weights):
        return False
    dtype = native_of(label, weights).dtype  # tensors have dtypes of their own
    if not (dtype.kind == "f" or (as_floats and dtype.kind in "iu" and dtype.itemsize == 8)):
        return False
    check_flags(label, deterministic=deterministic)
    if not deterministic:
        raise NoVariantError(f"{label}: deterministic=True at this level of determinism; got deterministic=False")
    return True


def sums_exactly(
    label: str, weights: Any, count: Callable[[Any], Any], device: Device, dtype: Any, added: Any = np.int64
) -> Any:
    """Return the exact sums of weights, rounded to ``dtype``; ``count`` adds integers of dtype ``added``."""
    native = native_of(label, weights)
    size = int(np.prod(native.shape))
    if size >= _MOST:
        raise ArgumentError(f"{label}: fewer than 2^31 float weights at this level of determinism; got {size}")
    dtype = np.dtype(dtype)
    wider = np.result_type(dtype, np.float32)
    if native.dtype != wider:
        weights = map_arrays(_as(wider.name), weights, device=device)
        native = native_of(label, weights)
    form, added = format_of(native.dtype), np.dtype(added)
    top, low, special = 1, 1, False
    if size:

        def found(function: Expr, op: OpName) -> int:
            return int(device.to_host(reduce(native, map=function, op=op, device=device)))

        high = found(_field(form), "max")
        special = high == form.specials
        top = max(found(_finite_field(form), "max") if special else high, 1)
        low = min(found(_least_field(form), "min"), top)
    bits, first = _BITS[added], low - 1
    places = range(first, top + form.mantissa, bits)
    functions = [_plane(form, place, bits, added.name) for place in places]
    functions += [_infinite(sign, added.name) for sign in (1, -1) if special]
    sums = [count(map_arrays(function, weights, device=device)) for function in functions]
    return map_arrays(_joined(form, len(places), bits, first, dtype.name, len(sums)), *sums, device=device)


def histogram_exactly(histogram: partial[Any], x: Any, weights: Any, device: Any, *, density: bool) -> tuple[Any, Any]:
    """Return exact sums of float weights, or densities, and the edges; ``histogram`` counts as it is asked to."""
    operands, edges = weighed("histogram", x, weights, device), list[Any]()
    at_once, asked = partial(histogram, density=density, weights=weights), histogram.keywords["variant"] is not None
    if found := exactly_at_once(operands.device, at_once, asked=asked):
        return found[0]  # type: ignore[no-any-return]  # a pair

    def count(plane: Any) -> Any:
        sums, *edges[:] = histogram(weights=plane)
        return sums

    device, given = operands.device, operands.natives[1].dtype
    sums = sums_exactly("histogram", weights, count, device, np.float64 if density else given)
    return (as_density(operands, sums, device.to_host(edges[0])) if density else sums), edges[0]


def bincount_exactly(bincount: partial[Any], x: Any, weights: Any, device: Any) -> Any:
    """Return exact sums of float weights; ``bincount`` counts as it is asked to."""
    operands = weighed("bincount", x, weights, device)
    if not operands.natives[0].shape[0]:
        return bincount(weights=None)  # of integers, as NumPy's
    asked = bincount.keywords["variant"] is not None
    if found := exactly_at_once(operands.device, partial(bincount, weights=weights), asked=asked):
        return found[0]

    def count(plane: Any) -> Any:
        return bincount(weights=plane)

    return sums_exactly("bincount", weights, count, operands.device, np.float64, np.int32)


def exactly_at_once(device: Device, count: Callable[[], Any], *, asked: bool = False) -> tuple[Any] | None:
    """Return exact sums by a kernel that has room for all bits of a group's sums; None if there is none.

    The reference has one only if it is ``asked`` for.
    """
    if device.capabilities.kind == "reference" and not asked:
        return None
    with suppress(NoVariantError):
        return (count(),)
    return None


@cache
def _as(name: str) -> Expr:
    return trace(lambda x: x.astype(name), 1)


def _field_of(x: Any, form: Format) -> Any:
    return bits_of(x) >> form.mantissa & form.specials


@cache
def _field(form: Format) -> Expr:
    return trace(lambda x: _field_of(x, form), 1)


@cache
def _finite_field(form: Format) -> Expr:
    return trace(lambda x: np.where(_field_of(x, form) == form.specials, 0, _field_of(x, form).astype(np.int64)), 1)


@cache
def _least_field(form: Format) -> Expr:
    """Return the exponent of a finite number other than 0, and the largest one of others."""

    def least(x: Any) -> Any:
        field = np.maximum(_field_of(x, form).astype(np.int64), 1)
        return np.where(x == 0, form.specials, field)

    return trace(least, 1)


@cache
def _plane(form: Format, place: int, many: int, name: str) -> Expr:
    """Return the function that gives ``many`` bits of a finite weight from bit ``place`` on, with its sign."""

    def plane(x: Any) -> Any:
        bits = bits_of(x).astype(np.uint64)
        field, fraction = bits >> form.mantissa & form.specials, bits & (1 << form.mantissa) - 1
        whole = fraction | np.where(field > 0, np.uint64(1 << form.mantissa), np.uint64(0))
        up = np.maximum(field.astype(np.int64), 1) - 1 - place
        left, right = np.maximum(up, 0).astype(np.uint64), np.maximum(-up, 0).astype(np.uint64)
        piece = (((whole << left) >> right) & (1 << many) - 1).astype(np.int64)
        finite = np.where(field == form.specials, 0, piece)
        return np.where(bits >> form.mantissa + form.exponent != 0, -finite, finite).astype(name)

    return trace(plane, 1)


@cache
def _infinite(sign: int, name: str) -> Expr:
    """Return the function that gives 1 for infinity of a sign, and for NaN, which counts as both signs."""
    return trace(lambda x: np.where((x - x != 0) & ~(x * sign < 0), 1, 0).astype(name), 1)


@cache
def _joined(form: Format, planes: int, bits: int, first: int, name: str, sums: int) -> Expr:
    """Round the sum of planes to the nearest float; counts of infinities and NaN come behind these, if any."""
    words = (planes - 1) * bits // 64 + 3

    def spread(v: Any, place: int) -> list[Any]:
        """Return the words of a signed sum at a place."""
        own, sign, up = v.astype(np.uint64), np.where(v < 0, np.uint64(2**64 - 1), np.uint64(0)), place % 64
        found = [own << up, (own >> 64 - up) | (sign << up)] if up else [own]
        return [*[own & np.uint64(0)] * (place // 64), *found, *[sign] * words][:words]

    def join(*counted: Any) -> Any:
        whole = [one.astype(np.int64) for one in counted]
        total = spread(whole[0], 0)
        for k in range(1, planes):
            total = added_words(total, spread(whole[k], k * bits))
        kinds = [
            np.where(one != 0, np.uint32(kind), np.uint32(0)) for kind, one in zip((1, 2), whole[planes:], strict=False)
        ]
        special = kinds[0] | kinds[1] if kinds else np.where(total[0] != total[0], np.uint32(1), np.uint32(0))
        return rounded_words(total, special, form, first).astype(name)

    return trace(join, sums)
