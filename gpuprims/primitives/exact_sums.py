"""Exact sums of floats: the nearest float to the sum of the elements, whatever their order and division.

A sum has a signed limb for each 32 bits from the lowest bit of a float to the highest of a sum (a superaccumulator: U.
Kulisch, "Computer Arithmetic and Validity", 2008). Adding each element to it would be slow. So kernels take a block of
elements, and round each to a multiple of a power of two, by adding and subtracting a large number. The power is such
that these multiples add up in a float64 without rounding. The remainders follow in further windows of bits, until
nothing is left. That is the pre-rounding of J. Demmel and H. D. Nguyen, "Fast Reproducible Floating-Point Summation",
ARITH 2013, and of W. Ahrens, J. Demmel and H. D. Nguyen, "Algorithms for Efficient Reproducible Floating Point
Summation", ACM TOMS 46 (2020), but no bits are dropped: sums of blocks go to the limbs, and these add up as integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.counters import with_counters
from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.geometry import Refusal
from gpuprims.core.layout import Layout
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import MOST_GROUPS
from gpuprims.expressions import c_type
from gpuprims.operators import Folding
from gpuprims.primitives.fixed_launches import MOST_LOADED
from gpuprims.primitives.fold_spec import FoldSpec
from gpuprims.primitives.fold_variants import FoldVariant

_FLOAT64 = np.dtype(np.float64)


class _Format(NamedTuple):
    """Floats of a dtype: the power of two of their lowest bit, the bits after the first, infinity, and their sums."""

    lowest: int
    mantissa: int
    infinite: int
    limbs: int  # room for sums of 2^40 elements, and for the three limbs that a deposit touches
    windows: int  # of a block, which hold all bits of most data


_FORMATS = {
    np.dtype(np.float32): _Format(-149, 23, 0x7F800000, 13, 2),
    _FLOAT64: _Format(-1074, 52, 0x7FF0000000000000, 70, 3),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class ExactSpec(FoldSpec):
    """The macros of an exact sum."""

    contracted: ClassVar[bool] = False

    @property
    def dtypes(self) -> frozenset[np.dtype[Any]]:
        """See :class:`KernelSpec`."""
        return super().dtypes | {_FLOAT64}

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        (dtype,) = self.values
        form, kind = _FORMATS[dtype], c_type(dtype)
        word = "u32" if dtype.itemsize == 4 else "u64"
        return super().macros() | {
            "ADDEND(value)": "(f64)(value)",
            "SUM_OF_F64(number)": f"gp_pack(({kind})(number))",
            "SUM_OF_BITS(bits)": f"gp_pack(gp_from_bits_{kind}(({word})(bits)))",
            "LOWEST_POWER": f"({form.lowest})",
            "MANTISSA": form.mantissa,
            "INFINITE": f"{form.infinite:#x}UL",
            "LIMBS": form.limbs,
            "WINDOWS": form.windows,
            "STORE_SUM(o, limbs, special)": "STORE(o, 0, gp_exact_sum(limbs, special))",
        }

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), Path(__file__).parent / "reduce" / "kernels" / "exact.h")


@dataclass(frozen=True, eq=False, kw_only=True)
class LimbsSpec(ExactSpec):
    """The macros of an exact sum that is not rounded: the result has its limbs, and the sum of infinities and NaN."""

    def macros(self) -> dict[str, int | str]:
        """See :class:`KernelSpec`."""
        stores = "gp_store_limbs(y0 + gp_at_y0(layout, o, 0), limbs, special)"
        return super().macros() | {"STORE_SUM(o, limbs, special)": stores}


def adds_floats(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse operators that do more than add floats, and devices without float64."""
    if not call.adds:
        return (
            "is for operators that add float32 or float64, as sum, mean, norm and dot products; this call's does more"
        )
    if not capabilities.fp64:
        return f"needs float64, which {capabilities.name} does not compute in"
    return None


def a_limb_each(block: int) -> Refusal:
    """Return the refusal of groups with fewer work-items than a part leaves limbs."""
    most = max(form.limbs for form in _FORMATS.values()) + 1

    def refusal(capabilities: Capabilities, call: CallTraits) -> str | None:
        return None if block >= most else f"needs groups of {most} work-items or more; these have {block}"

    return refusal


def launch_exact(
    device: Device,
    chosen: FoldVariant,
    folding: Folding,
    layout: Layout,
    outputs: int,
    count: int,
    counted: int,
    *,
    limbs_left: bool = False,
) -> Launch:
    """Return the launch of exact sums; with ``limbs_left``, of sums that are not rounded."""
    able, limbs = device.capabilities, _FORMATS[folding.values[0]].limbs
    tiles = max(-(-count // (chosen.block * chosen.items * _BLOCKS)), 1)
    groups = chosen.groups(min(outputs * tiles, MOST_GROUPS), able)
    strips = -(-outputs // chosen.outputs_per_group)
    parts = max(1, min(tiles, groups // strips))
    vector = min(layout.vector_width(), MOST_LOADED) if chosen.vectors else 1
    kernel = device.kernel(chosen, (LimbsSpec if limbs_left else ExactSpec).of(folding, layout, vector=vector))
    launch = kernel.prepare(min(groups, outputs * parts), layout.pack(counted), outputs, count, parts)
    counters, scratch = (outputs, outputs * parts * 8 * (limbs + 1)) if parts > 1 else (1, 0)
    unread = 0 if count else len(layout.forms) - len(folding.outputs)
    return with_counters(device, launch, counters, scratch, unread=unread, one_kernel=True)


# Blocks that a part has at least.
_BLOCKS = 16


def sums_exactly(values: np.ndarray) -> np.ndarray:
    """Return the exact sum of each row, rounded once."""
    return round_limbs(limbs_exactly(values), values.dtype)


def limbs_exactly(values: np.ndarray) -> np.ndarray:
    """Return the words of the exact sum of each row, as kernels leave them."""
    with np.errstate(invalid="ignore"):
        special = np.where(np.isfinite(values), 0, values).sum(axis=1, dtype=np.float64)
    count = _FORMATS[values.dtype].limbs
    words = np.empty((len(values), count + 1), np.int64)
    for k, row in enumerate(values):
        total = _sum(row[np.isfinite(row)], values.dtype)
        words[k, : count - 1] = [total >> 32 * limb & 0xFFFFFFFF for limb in range(count - 1)]
        words[k, count - 1] = total >> 32 * (count - 1)
    words[:, count] = special.view(np.int64)
    return words


def words_of(dtype: np.dtype[Any]) -> int:
    """Return the number of words of a sum that is not rounded."""
    return _FORMATS[dtype].limbs + 1


def add_limbs(sums: Sequence[np.ndarray]) -> np.ndarray:
    """Return the words of the sum of fewer than 2^30 sums, given those of each."""
    total: np.ndarray = np.sum(sums, axis=0)
    with np.errstate(invalid="ignore"):
        special = np.sum([np.array(one[..., -1]).view(np.float64) for one in sums], axis=0)
    total[..., -1] = np.asarray(special).view(np.int64)
    return total


def round_limbs(words: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Return the floats nearest to sums, given their words."""
    form, special = _FORMATS[dtype], np.array(words[..., -1]).view(np.float64)  # of no axes if the words have one
    rows = words[..., :-1].reshape(-1, words.shape[-1] - 1).tolist()
    totals = [sum(limb << 32 * k for k, limb in enumerate(row)) for row in rows]
    sums = np.array([_rounded(total, form, dtype) for total in totals], dtype).reshape(words.shape[:-1])
    return np.where(special != 0, special.astype(dtype), sums)


def _sum(row: np.ndarray, dtype: np.dtype[Any]) -> int:
    """Add finite numbers of one exponent as integers of 53 bits, in halves, and the sums as Python's integers.

    Returns the number of units of the lowest bit.
    """
    form = _FORMATS[dtype]
    parts, exponents = np.frexp(row.astype(np.float64))
    whole, total = np.ldexp(parts, 53).astype(np.int64), 0
    for exponent in np.unique(exponents).tolist():
        own = whole[exponents == exponent]
        mantissas = (int((own >> 26).sum()) << 26) + int((own & (2**26 - 1)).sum())
        place = exponent - 53 - form.lowest
        total += mantissas << place if place >= 0 else mantissas >> -place  # the bits below are zero
    return total


def _rounded(total: int, form: _Format, dtype: np.dtype[Any]) -> Any:
    """Return the nearest float to a number of units of the lowest bit; of two, the even one."""
    size = abs(total)
    lowest = max(size.bit_length() - 1 - form.mantissa, 0)
    bits, below = size >> lowest, size & ((1 << lowest) - 1)
    if lowest:
        bits += 2 * below + (bits & 1) > 1 << lowest
    bits = min(bits + (lowest << form.mantissa), form.infinite)
    number: Any = np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]
    return -number if total < 0 else number
