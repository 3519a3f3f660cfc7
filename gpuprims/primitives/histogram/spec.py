"""The kernel spec of histogram: keys, the table of thresholds, and the sums of a bin."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from gpuprims.core.codegen.functions import fetch_text
from gpuprims.core.codegen.operands import fields_of
from gpuprims.core.kernel_spec import Dtype, KernelSpec
from gpuprims.expressions import c_type

# What a bin adds: counts, integer weights, or float weights. To add float weights in any order with the same result, a
# first reading finds the exponent of the largest weight ("peaks"), and a second cuts weights into integers ("limbs").
Sums = Literal["counts", "integers", "peaks", "limbs", "floats"]
# A key is the index of its bin ("direct"), or thresholds are evenly spaced up to rounding ("even"), or not ("edges").
Bins = Literal["direct", "even", "edges"]
# 64-bit words of the table before the thresholds.
TABLE_HEADER = 8
# Most histograms among which a CPU work-item alternates.
CPU_REPLICAS = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class HistogramSpec(KernelSpec):
    """Macros for a histogram; the values are a key and, if there are weights, a weight."""

    kind: Bins
    sums: Sums
    group_dtype: Dtype  # of a sum within a group
    dtype: Dtype  # of a sum in global memory
    local_guide: bool  # the guide to the thresholds is in local memory
    fused: bool  # a product and the next sum are rounded once; on GPUs this takes no longer
    merged: bool  # groups add their sums to one histogram by atomics, instead of storing one each

    @property
    def planes(self) -> int:
        """The number of sums of a bin."""
        return 3 if self.sums == "limbs" else 1

    @property
    def pointers(self) -> int:
        """Number of pointer arguments: the inputs, the sums, the table, and the exponents for limbs."""
        return len(self.inputs) + 2 + (self.sums == "limbs")

    @property
    def dtypes(self) -> frozenset[Dtype]:
        """See :class:`KernelSpec`."""
        return super().dtypes | {self.group_dtype}

    def macros(self) -> dict[str, int | str]:
        """Define keys, weights, sums and the guide to the thresholds."""
        key, fields = self.values[0], fields_of(self.values)
        peaks = ", GLOBAL const u32 *RESTRICT peaks" if self.sums == "limbs" else ""
        lowest = {"LOWEST": "(-128)" if self.inputs[0].dtype.kind == "i" else "(0)"} if self._of_bytes else {}
        return {
            **lowest,
            "TABLE_HEADER": TABLE_HEADER,
            "CPU_REPLICAS": CPU_REPLICAS,
            **{f"BINS_{kind.upper()}": int(self.kind == kind) for kind in get_args(Bins)},
            **{f"SUMS_{sums.upper()}": int(self.sums == sums) for sums in get_args(Sums)},
            "WIDE_SUMS": int(self.group_dtype.itemsize == 8),
            "PLANES": self.planes,
            "MERGED": int(self.merged),
            "KEY(value)": f"(value){fields[0]}",
            "KEY_OF_BITS(bits)": _from_bits(key),
            "BELOW_ZERO(x)": "0" if key.kind == "u" else "((x) < 0)",
            "DISTANCE(x, first)": _distance(key),
            "FUSED": int(self.fused),
            **self._guide(),
            **self._weights(),
            "HISTOGRAMS": f"GLOBAL total_t *RESTRICT histograms, GLOBAL const u64 *RESTRICT table{peaks}",
        }

    @property
    def _of_bytes(self) -> bool:
        return self.inputs[0].dtype.itemsize == 1 and self.sums == "counts"

    def _guide(self) -> dict[str, int | str]:
        """Define the guide, which has entries of 16 bits in local memory, or of 32 bits in the table."""
        near = "LOCAL const u16", "0x8000u"
        kind, impure = near if self.local_guide else ("GLOBAL const u32", "0x80000000u")
        far = "((GLOBAL const u32 *)((table) + TABLE_HEADER + ((bins) + 2) * (i64)sizeof(key_t) / 8))"
        return {"LOCAL_GUIDE": int(self.local_guide), "GUIDE": kind, "IMPURE": impure, "FAR_GUIDE(table, bins)": far}

    def _weights(self) -> dict[str, int | str]:
        """Define a value's weight, and the exponent of a float weight."""
        if len(self.values) == 1:
            return {"WEIGHT(value)": 1}
        macros: dict[str, int | str] = {"WEIGHT(value)": "(value).v1"}
        dtype = self.values[1]
        if dtype.kind == "f":
            fraction, mask = (23, 0xFF) if dtype.itemsize == 4 else (52, 0x7FF)
            macros |= {
                "FRACTION_BITS": fraction,
                "EXPONENT_MASK": mask,
                "WEIGHT_BITS(weight)": f"((u64)gp_bits_{c_type(dtype)}(weight))",
                "WEIGHT_OF_BITS(bits)": _from_bits(dtype),
            }
        return macros

    def text(self) -> list[str]:
        """Write the types of keys, sums and weights, and functions that load bytes."""
        types = {"key_t": self.values[0], "bin_t": self.group_dtype, "total_t": self.dtype}
        if len(self.values) > 1:
            types["weight_t"] = self.values[1]
        return [
            *(fetch_text(self) if self._of_bytes else ()),
            *(f"typedef {c_type(dtype)} {name};" for name, dtype in types.items()),
        ]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (Path(__file__).parent / "kernels" / "binning.h",)


def _from_bits(dtype: Dtype) -> str:
    bits = "bits" if dtype.itemsize == 8 else "(u32)(bits)"
    return f"gp_from_bits_{c_type(dtype)}({bits})"


def _distance(key: Dtype) -> str:
    """Return C text of the distance between two keys, as a float; integers subtract without overflow."""
    if key.kind == "f":
        return "((f32)((x) - (first)))"
    unsigned = f"u{8 * key.itemsize}"
    return f"((f32)(({unsigned})(x) - ({unsigned})(first)))"
