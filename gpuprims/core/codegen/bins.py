"""What a histogram is written with: keys, thresholds' table, and what a bin adds up."""

from __future__ import annotations

from typing import get_args

from gpuprims.core.codegen.folds import Packing
from gpuprims.core.codegen.functions import fetch_text
from gpuprims.core.kernel_spec import CPU_REPLICAS, TABLE_HEADER, Binning, Definitions, Dtype, Sums
from gpuprims.expressions import c_type


def bins_text(definitions: Definitions, binning: Binning) -> list[str]:
    """Write the types of keys, weights and sums, and the macros that ``binning.h`` is about."""
    key, fields = definitions.values[0], Packing(definitions.values).fields
    element = definitions.inputs[0].dtype
    of_bytes = []
    if element.itemsize == 1 and binning.sums == "counts":
        of_bytes = [f"#define LOWEST ({-128 if element.kind == 'i' else 0})", *fetch_text(definitions)]
    return [
        *of_bytes,
        f"#define TABLE_HEADER {TABLE_HEADER}",
        f"#define CPU_REPLICAS {CPU_REPLICAS}",
        *(f"#define BINS_{kind.upper()} {int(binning.kind == kind)}" for kind in ("direct", "even", "edges")),
        *(f"#define SUMS_{kind.upper()} {int(binning.sums == kind)}" for kind in get_args(Sums)),
        f"#define WIDE {int(binning.dtype.itemsize == 8)}",
        f"#define PLANES {binning.planes}",
        f"typedef {c_type(key)} key_t;",
        f"#define MERGED {int(binning.merged)}",
        f"typedef {c_type(binning.dtype)} bin_t;",
        f"typedef {c_type(binning.total)} total_t;",
        f"#define KEY(value) (value){fields[0]}",
        f"#define KEY_OF_BITS(bits) {_from_bits(key)}",
        f"#define BELOW_ZERO(x) {'0' if key.kind == 'u' else '((x) < 0)'}",
        f"#define DISTANCE(x, first) {_distance(key)}",
        f"#define FUSED {int(binning.fused)}",
        *_guide(binning),
        *(_weights(definitions.values[1]) if len(definitions.values) > 1 else ["#define WEIGHT(value) 1"]),
        _memories(binning),
    ]


def _guide(binning: Binning) -> list[str]:
    """Write where the guide lies as kernels read it: in local memory, in 16 bits, or in the table, in 32."""
    near = "LOCAL const u16", "0x8000u"
    kind, impure = near if binning.near else ("GLOBAL const u32", "0x80000000u")
    far = "(GLOBAL const u32 *)((table) + TABLE_HEADER + ((bins) + 2) * (i64)sizeof(key_t) / 8)"
    return [
        f"#define NEAR {int(binning.near)}",
        f"#define GUIDE {kind}",
        f"#define IMPURE {impure}",
        f"#define FAR_GUIDE(table, bins) ({far})",
    ]


def _memories(binning: Binning) -> str:
    peaks = ", GLOBAL const u32 *RESTRICT peaks" if binning.sums == "limbs" else ""
    return f"#define HISTOGRAMS GLOBAL total_t *RESTRICT histograms, GLOBAL const u64 *RESTRICT table{peaks}"


def _weights(dtype: Dtype) -> list[str]:
    """Write the weight of a value, and where its dtype has its exponent."""
    lines = ["#define WEIGHT(value) (value).v1", f"typedef {c_type(dtype)} weight_t;"]
    if dtype.kind != "f":
        return lines
    fraction, mask = (23, 0xFF) if dtype.itemsize == 4 else (52, 0x7FF)
    return [
        *lines,
        f"#define FRACTION_BITS {fraction}",
        f"#define EXPONENT_MASK {mask}",
        f"#define WEIGHT_BITS(weight) ((u64)gp_bits_{c_type(dtype)}(weight))",
        f"#define WEIGHT_OF_BITS(bits) {_from_bits(dtype)}",
    ]


def _from_bits(dtype: Dtype) -> str:
    bits = "bits" if dtype.itemsize == 8 else "(u32)(bits)"
    return f"gp_from_bits_{c_type(dtype)}({bits})"


def _distance(key: Dtype) -> str:
    """Write how far a key is above another, as a float: of integers exact until it is one, whatever their width."""
    if key.kind == "f":
        return "((f32)((x) - (first)))"
    unsigned = f"u{8 * key.itemsize}"
    return f"((f32)(({unsigned})(x) - ({unsigned})(first)))"
