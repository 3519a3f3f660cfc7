"""Variants and sizes for tests that run under Oclgrind or compute-sanitizer; see ``oclgrind.py``, ``sanitizer.py``.

Oclgrind watches OpenCL kernels, compute-sanitizer CUDA kernels. OpenCL kernels for CPUs run on any OpenCL device,
slowly.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import pytest
from kernel_cases import Kernel

from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.primitives.queues import queueable
from gpuprims.primitives.scan.refusals import ordered_queue_fits
from gpuprims.primitives.stencil.long_rows import MOST_ON_CPUS, one_long_row
from gpuprims.primitives.stencil.refusals import along_lines, one_pass, weights_read

BACKEND = "cuda" if "GPUPRIMS_SANITIZER" in os.environ else "opencl"

VARIANTS = [variant for name in REGISTRY.primitive_names for variant in REGISTRY.variants(name, BACKEND)]

# Kernels that need shuffles. Without shuffles, other kernels run with warps of one work-item.
NEED_WARPS = (
    "reduce_warp",
    "reduce_rows",
    "reduce_fixed_few",
    "reduce_staged",
    "scan_rows",
    "sort_onesweep",
    "sort_resident",
    "sort_rows",
)
LARGEST = 20_000
# Variants of scan that need each result at the place of its element.
FOR_PLACES = ("queues", "fixed_queues")

# Primitives whose kernels run with smaller tiles here.
CUT = ("scan", "segments", "segscan", "histogram", "stencil")
# Primitives whose kernels run in smaller groups under Oclgrind. It takes as long for each work-item as for the first,
# idle or not. It has no shuffles, so a group of n has n warps, and each work-item folds the values of all of them.
# Under compute-sanitizer groups stay as large as in use, to have several warps. A group of stencil/dense computes many
# elements beyond small arrays; those of scans by columns fold the values of all warps above their own, too.
NARROWED = (
    *("reduce", "scan", "segments", "segscan", "compact", "histogram", "csr", "stencil"),
    *("take", "searchsorted", "merge", "selection", "top_k", "logistic", "rle", "philox"),
)
WIDEST, NARROW_ENTRIES = 64, {"scan_columns": 32, "scan_column_runs": 32, "stencil_dense": 32, "reduce_exact": 160}


def of(primitive: str) -> list[Variant]:
    """Return the variants of a primitive."""
    return [variant for variant in VARIANTS if variant.primitive == primitive]


def narrowed(variant: Variant) -> Variant:
    """Return a variant with few work-items in a group under Oclgrind, if its primitive is one of NARROWED."""
    block = NARROW_ENTRIES.get(variant.entry, WIDEST)
    if BACKEND == "cuda" or variant.primitive not in NARROWED or variant.block <= block:
        return variant
    each = {"outputs_per_group": block} if variant.outputs_per_group == variant.block else {}
    return dataclasses.replace(variant, geometry=variant.geometry._replace(block=block), **each)


def small(variant: Variant) -> Variant:
    """Return a variant that refuses no device and makes several groups and tiles of few elements.

    Scans, histograms and segments get small tiles. Kernels whose groups run together, or have one work-item, get five
    groups or more, though the simulator has one compute unit.
    """
    if variant.entry == "scan_queues":  # a warp that scans, and tiles of 128 float32
        few_runs = Geometry(160, 4, 1)
        return dataclasses.replace(variant, refuse=queueable(few_runs), geometry=few_runs)
    if variant.entry == "scan_fixed_queues":  # whose order says how many runs a tile has
        return dataclasses.replace(variant, refuse=ordered_queue_fits(variant.geometry))
    narrow, units = narrowed(variant), variant.groups_per_unit
    several = variant.together or variant.entry == "scan_column_runs"  # whose strips have as many parts as groups run
    if several or (units and variant.block == 1):
        units = max(units or 0, 5)
    by_offsets = 300 if variant.block == 1 else 2
    few = {"histogram": 4, "segments": by_offsets, "segscan": by_offsets}.get(
        variant.primitive, 4 if getattr(variant, "word_items", False) else variant.items
    )
    if variant.primitive in ("reduce", "scan") and variant.tile > LARGEST:
        few = {"reduce": 2100, "scan": 2048}[variant.primitive]  # a part of reduce/cpu_best has several spans
    if variant.entry in ("map_cpu_chunks", "csr_cpu_rows", "take_cpu_runs", "merge_cpu_runs"):
        few = 2048
    refuse: Refusal = lambda *_: None  # noqa: E731 - a rule like the two below
    if variant.primitive == "stencil":  # a kernel that cannot do it in one launch takes two
        reads = first_refusal(one_pass, along_lines, weights_read)
        cpus = {
            "cpu_rows": along_lines,
            "cpu_dense": reads,
            "cpu_long_rows": first_refusal(reads, one_long_row(MOST_ON_CPUS)),
        }
        refuse = cpus.get(variant.name, variant.refuse)
    block = min(narrow.block, 64) if variant.entry in ("scan_columns", "scan_column_runs") else narrow.block
    geometry = Geometry(block, min(variant.items, few), units)
    alone = {"alone": 0} if hasattr(variant, "alone") else {}  # so that scans of these sizes have several tiles
    if variant.entry == "sort_buckets":
        few_keys = Geometry(256, 2, 2)
        return dataclasses.replace(variant, refuse=refuse, geometry=few_keys, tasks=few_keys)
    if variant.entry == "sort_counted":
        geometry = Geometry(32, 4, 2)
    return dataclasses.replace(narrow, refuse=refuse, geometry=geometry, **alone)


SMALL = {variant: small(variant) for variant in VARIANTS}
NARROW = {variant: narrowed(variant) for variant in VARIANTS}


def each(variants: list[Variant]) -> pytest.MarkDecorator:
    """Run a test for each variant, which its argument ``kernel`` runs."""
    return pytest.mark.parametrize("kernel", variants, indirect=True, ids=lambda variant: variant.entry)


def sizes(kernel: Kernel) -> list[int]:
    """Return sizes of part of a tile, a tile, and several and a part, as large as the simulator runs in time."""
    tile = kernel.variant.tile
    return [size for size in (1, tile, 2 * tile + 3) if size <= LARGEST]


def tiles(kernel: Kernel, most: int) -> int:
    """Return the size of two tiles and a part of one, or the given size where that is less."""
    return min(2 * kernel.variant.tile + 3, most)


def many(kernel: Kernel, outputs: int) -> int:
    """Return the number of outputs, or a tenth of it where the simulator would run a whole group for each."""
    return outputs // 10 if kernel.variant.block > 1 and kernel.variant.outputs_per_group == 1 else outputs


def scan_sizes(kernel: Kernel, dtype: Any) -> list[int]:
    """Return sizes as `sizes` does, for scans, whose tile depends on the size and the dtype."""
    few, tile = kernel.scanned_tile(1, dtype), kernel.scanned_tile(1500, dtype)
    return sorted({size for size in (1, few, tile, 2 * tile + 3) if size <= LARGEST // 8})
