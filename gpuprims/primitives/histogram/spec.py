"""The kernel spec of histogram: keys, the table of thresholds, and the sums of a bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from gpuprims.core.codegen.functions import fetch_text
from gpuprims.core.codegen.operands import fields_of
from gpuprims.core.kernel_spec import Dtype, KernelSpec
from gpuprims.expressions import c_type

# What a bin adds: counts, integer weights, or float weights. Floats that are added as integers have the same sum in any
# order: integers of all bits of the dtype ("exact"), of those near the largest weight of the bin in a group's part
# ("relative"), or in all ("scaled"), whose exponent an earlier reading finds ("peaks").
Sums = Literal["counts", "integers", "peaks", "scaled", "relative", "exact", "floats"]
# A key is the index of its bin ("direct"), or thresholds are evenly spaced up to rounding ("even"), or not ("edges").
# Or a launch before finds the range of even bins ("sought").
Bins = Literal["direct", "even", "edges", "sought"]


class Keys(NamedTuple):
    """The first arrays of a call: ``axes`` arrays of keys, after one of row numbers if ``rows``.

    Several keys, or keys and a row, find a place in a grid of bins; see ``places.h``.
    """

    axes: int = 1
    rows: bool = False

    @property
    def arrays(self) -> int:
        """The number of arrays."""
        return self.axes + self.rows

    @property
    def grid(self) -> int:
        """The number of axes of a grid, or 0 for an array that alone finds the bins."""
        return self.axes if self.arrays > 1 else 0


ONE_KEY = Keys()
_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)
# 64-bit words of the table before the thresholds.
TABLE_HEADER = 8
# Float32 holds multiples of this width.
_SMALLEST = 1e-30
# Counts of 16 bits (histogram_packed.cl): what groups take from one, and work-items count at most; most elements of a
# part, and entries of the list of full counts.
FULL, MOST_PACKED = 2**15, 2**23
MOST_FULL = MOST_PACKED // FULL + 2
# Most histograms among which a CPU work-item alternates.
CPU_REPLICAS = 8


def edge_dtype(dtype: Dtype) -> Dtype:
    """Return the dtype of NumPy's edges between elements of a dtype."""
    return dtype if dtype.kind == "f" else _FLOAT64


# 32-bit digits of an exact sum: bits of all exponents, of a mantissa, and of the number of elements, and one digit for
# weights that are not finite.
_EXACT = {4: 11, 8: 68}


def digits_of(sums: Sums, weight: Dtype | None) -> int:
    """Return the number of 32-bit words of a sum that work-items add to in local memory; 1 for other sums."""
    if sums == "exact" and weight is not None:
        return _EXACT[weight.itemsize]
    return {"integers": 2, "scaled": 3, "relative": 3}.get(sums, 1)


def planes_of(sums: Sums, weight: Dtype | None) -> int:
    """Return the number of sums in global memory for each bin."""
    return 2 if sums == "scaled" else digits_of(sums, weight) if sums == "exact" else 1


# Few totals have several rows if so many groups or more would add to each.
_TOTAL_COPIES, _MOST_COPIED, _FEWEST_SHARING = 4, 2**13, 128  # rows: totals


@dataclass(frozen=True, eq=False, kw_only=True)
class HistogramSpec(KernelSpec):
    """Macros for a histogram; the values are the keys and, if there are weights, a weight."""

    kind: Bins
    sums: Sums
    group_dtype: Dtype  # of a sum within a group, or of its digits
    dtype: Dtype  # of a sum, or a result, in global memory
    local_guide: bool  # the guide to the thresholds is in local memory
    fused: bool  # a product and the next sum are rounded once; on GPUs this takes no longer
    digits: int  # words of a sum in local memory, 0 if sums are whole
    final: bool  # the launch stores results, not sums of its parts
    merged: int  # groups add their sums to so many rows of totals, which the last group stores as results
    edges: bool = False  # the launch copies the edges to a result
    reports: bool = False  # the last group tells the host the last place that is not zero
    keys: Keys = ONE_KEY
    windowed: bool = False  # groups first add weights of near exponents to words that need no carries

    @staticmethod
    def rows_of_totals(totals: int, parts: int) -> int:
        """Return how many rows of totals groups share, so that fewer of them wait for each other at one address."""
        several = totals * _TOTAL_COPIES <= _MOST_COPIED and parts >= _FEWEST_SHARING * _TOTAL_COPIES
        return _TOTAL_COPIES if several else 1

    @property
    def planes(self) -> int:
        """The number of sums of a bin in global memory."""
        return planes_of(self.sums, self._weight)

    @property
    def _weight(self) -> Dtype | None:
        return self.values[-1] if len(self.values) > self.keys.arrays else None

    @property
    def _of_keys(self) -> Dtype:
        return self.values[self.keys.rows]

    @property
    def pointers(self) -> int:
        """Number of pointer arguments: the inputs, the sums, the table, and what ``macros`` appends."""
        beside = (self.sums == "scaled") + (self.merged > 0) + self.edges + self.reports
        return len(self.inputs) + 2 + beside + self._sought

    @property
    def dtypes(self) -> frozenset[Dtype]:
        """See :class:`KernelSpec`."""
        joined = (self.final and self.sums == "exact") or self.sums in ("scaled", "relative")
        in_loops = not self.fused and self._of_keys.itemsize == 8  # by floats of 64 bits: arithmetic.h
        doubles = {_FLOAT64} if joined or in_loops or self._sought else set()
        return super().dtypes | {self.group_dtype, self.dtype} | doubles

    def macros(self) -> dict[str, int | str]:
        """Define keys, weights, sums and the guide to the thresholds."""
        key, fields = self._of_keys, fields_of(self.values)
        further = (
            ", GLOBAL const u32 *RESTRICT peaks" * (self.sums == "scaled")
            + ", GLOBAL u32 *counters" * (self.merged > 0)
            + ", GLOBAL u32 *edges" * self.edges
            + ", GLOBAL i64 *report" * self.reports
            + ", GLOBAL i64 *fault" * self._sought
        )
        lowest = {"LOWEST": "(-128)" if self.inputs[0].dtype.kind == "i" else "(0)"} if self._of_bytes else {}
        return {
            **lowest,
            "TABLE_HEADER": TABLE_HEADER,
            "CPU_REPLICAS": CPU_REPLICAS,
            **{f"BINS_{kind.upper()}": int(self.kind == kind) for kind in get_args(Bins)},
            **{f"SUMS_{sums.upper()}": int(self.sums == sums) for sums in get_args(Sums) if sums != "integers"},
            "SUMS_DIGITS": int(self.digits > 0),
            "DIGITS": max(self.digits, 1),
            "WIDE_TOTALS": int(self.dtype.itemsize == 8),
            "PLANES": self.planes,
            "FINAL": int(self.final),
            "MERGED": int(self.merged > 0),
            "TOTAL_COPIES": self.merged,
            "COPIES_EDGES": int(self.edges),
            "REPORTS": int(self.reports),
            "WINDOWED": int(self.windowed),
            "MOST_FULL": MOST_FULL,
            "KEY(value)": f"(value){fields[0]}",
            "KEY_OF_BITS(bits)": _from_bits(key),
            "BELOW_ZERO(x)": "0" if key.kind == "u" else "((x) < 0)",
            "DISTANCE(x, first)": _distance(key),
            "FUSED": int(self.fused),
            **self._grid(fields),
            **self._guide(),
            **self._edges(),
            **self._weights(),
            "HISTOGRAMS": f"GLOBAL total_t *RESTRICT histograms, GLOBAL const u64 *RESTRICT table{further}",
        }

    @property
    def _of_bytes(self) -> bool:
        return self.inputs[0].dtype.itemsize == 1 and self.sums == "counts" and not self.keys.grid

    def _grid(self, fields: Sequence[str]) -> dict[str, int | str]:
        """Define the keys of a value, and its row in a grid of several rows."""
        if not self.keys.grid:
            return {"GRID": 0}
        keys = ", ".join(f"(value){field}" for field in fields[self.keys.rows : self.keys.arrays])
        row = f"(value){fields[0]}" if self.keys.rows else "0"
        return {"GRID": self.keys.grid, "GRID_KEYS(value)": keys, "GRID_ROW(value)": row}

    def _guide(self) -> dict[str, int | str]:
        """Define the guide: entries of 16 bits, or thresholds, in local memory, or of 32 bits in the table."""
        near = "LOCAL const u16", "0x8000u"
        if self.local_guide and self._sought:
            near = "LOCAL const key_t", near[1]
        kind, impure = near if self.local_guide else ("GLOBAL const u32", "0x80000000u")
        far = "((GLOBAL const u32 *)((table) + TABLE_HEADER + ((bins) + 2) * (i64)sizeof(key_t) / 8))"
        return {"LOCAL_GUIDE": int(self.local_guide), "GUIDE": kind, "IMPURE": impure, "FAR_GUIDE(table, bins)": far}

    @property
    def _sought(self) -> bool:
        return self.kind == "sought"

    def _edges(self) -> dict[str, int | str]:
        """Define how edges that a kernel computes are rounded and stored, and the distance of integers."""
        if not self._sought:
            return {}
        key, edge = self._of_keys, edge_dtype(self.inputs[0].dtype)
        unsigned = f"u{8 * key.itemsize}"
        rounded = {2: "gp_half_value(gp_half_bits((f32)(x)))", 4: "((f32)(x))", 8: "(x)"}[edge.itemsize]
        stored = "((GLOBAL u16 *)(edges))[k] = gp_half_bits(edge)"
        return {
            "ROUNDED(x)": rounded,
            "EDGE_ROUNDING": f"{float(np.finfo(edge).eps) / 2!r}f",
            "EDGE_SMALLEST": f"{max(float(np.finfo(edge).tiny), _SMALLEST)!r}f",
            "KEYS_ARE_FLOATS": int(key.kind == "f"),
            "WIDTH(first, last)": f"((f64)(({unsigned})(last) - ({unsigned})(first)))" if key.kind != "f" else 0,
            "SET_EDGE(edges, k, edge)": stored if edge.itemsize == 2 else "((GLOBAL edge_t *)(edges))[k] = edge",
        }

    def _weights(self) -> dict[str, int | str]:
        """Define a value's weight, and the exponent of a float weight."""
        dtype = self._weight
        if dtype is None:
            return {"WEIGHT(value)": 1}
        macros: dict[str, int | str] = {"WEIGHT(value)": f"(value).v{len(self.values) - 1}"}
        if dtype.kind == "f":
            fraction, mask = (23, 0xFF) if dtype.itemsize == 4 else (52, 0x7FF)
            macros |= {
                "FRACTION_BITS": fraction,
                "EXPONENT_MASK": mask,
                "WEIGHT_BITS(weight)": f"((u64)gp_bits_{c_type(dtype)}(weight))",
            }
        return macros

    def text(self) -> list[str]:
        """Write the types of keys, sums and weights, and functions that load bytes."""
        types = {"key_t": self._of_keys, "bin_t": self.group_dtype, "total_t": self.dtype}
        types["group_t"] = self.group_dtype if not self.digits else self.dtype if self.sums == "relative" else _INT64
        if self._sought:
            types["edge_t"] = edge_dtype(self.inputs[0].dtype)
        if self._weight is not None:
            types["weight_t"] = self._weight
        return [
            *(fetch_text(self) if self._of_bytes else ()),
            *(f"typedef {c_type(dtype)} {name};" for name, dtype in types.items()),
        ]

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        kernels = Path(__file__).parent / "kernels"
        return kernels / "binning.h", kernels / "places.h", kernels / "sums.h"


def _from_bits(dtype: Dtype) -> str:
    bits = "bits" if dtype.itemsize == 8 else "(u32)(bits)"
    return f"gp_from_bits_{c_type(dtype)}({bits})"


def _distance(key: Dtype) -> str:
    """Return C text of the distance between two keys, as a float; integers subtract without overflow."""
    if key.kind == "f":
        return "((f32)((x) - (first)))"
    unsigned = f"u{8 * key.itemsize}"
    float_of = "gp_f32_u64" if key.itemsize == 8 else "(f32)"
    return f"({float_of}(({unsigned})(x) - ({unsigned})(first)))"
