"""What a histogram is written with: keys, thresholds' table, and what a bin adds up."""

from __future__ import annotations

import numpy as np

from gpuprims.definitions import Binning, Definitions, Dtype
from gpuprims.expressions import c_type
from gpuprims.source.folds import Packing
from gpuprims.source.functions import fetch_text


def bins_text(definitions: Definitions, binning: Binning) -> list[str]:
    """Write the types of keys, weights and sums, and the macros that ``binning.h`` is about."""
    key, fields = definitions.values[0], Packing(definitions.values).fields
    real = np.dtype(np.float64) if definitions.uses_float64 else np.dtype(np.float32)
    kinds = ("direct", "even", "edges")
    sums = ("counts", "integers", "limbs", "floats")
    element = definitions.inputs[0].dtype
    of_bytes = []
    if element.itemsize == 1 and binning.sums == "counts":
        of_bytes = [f"#define LOWEST ({-128 if element.kind == 'i' else 0})", *fetch_text(definitions)]
    return [
        *of_bytes,
        *(f"#define BINS_{kind.upper()} {int(binning.kind == kind)}" for kind in kinds),
        *(f"#define SUMS_{kind.upper()} {int(binning.sums == kind)}" for kind in sums),
        f"#define PLANES {binning.planes}",
        f"typedef {c_type(key)} key_t;",
        f"typedef {c_type(real)} real_t;",
        f"typedef {c_type(binning.dtype)} bin_t;",
        f"#define KEY(value) (value){fields[0]}",
        f"#define WEIGHT(value) (value){fields[-1]}",
        f"#define KEY_OF_BITS(bits) {_from_bits(key)}",
        f"#define REAL_OF_BITS(bits) {_from_bits(real)}",
        f"#define DISTANCE(x, first) {_distance(key)}",
        "#define HISTOGRAMS GLOBAL bin_t *RESTRICT histograms, GLOBAL const u64 *RESTRICT table",
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
