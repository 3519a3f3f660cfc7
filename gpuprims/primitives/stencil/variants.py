"""The variants of stencil. Comments name the rows of measurements.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import BLOCKS, THREAD_GROUPS, Geometry, Tunable, first_refusal, geometries
from gpuprims.core.refusals import double_precision, for_cpus, group_fits, work_item_fits, work_items_fit
from gpuprims.core.variant import Variant
from gpuprims.primitives.stencil.reference import stencil_numpy
from gpuprims.primitives.stencil.refusals import along_lines, few_rows, one_pass, strips_fit, tile_fits, window_fits


@dataclass(frozen=True)
class StencilVariant(Variant):
    """A variant of a stencil."""

    # Where the kernel keeps neighbours; see :mod:`.spec`.
    window: Literal["listed", "ring", "strip", "tile"] = "listed"
    # True if the kernel can apply the stencil twice in one launch.
    twice: bool = False


_STENCIL = Catalogue(StencilVariant, "stencil", Path(__file__).parent)

VARIANTS = (
    _STENCIL.cpu(
        "cpu_rows",
        rank=40,
        geometry=Geometry(1, 1024, 8),  # rows: cpu_rows
        window="ring",
        refuse=lambda at: first_refusal(for_cpus, double_precision, along_lines, few_rows),
        # The primitive halves the items until a window fits in a core's cache.
        tunable=Tunable(geometries((1,), (256, 512, 1024, 2048, 4096, 8192), THREAD_GROUPS), work_item_fits),
    ),
    *_STENCIL.gpu(
        "rolling",
        rank=30,
        geometry=Geometry(128, 4, 12),  # rows: rolling
        vectors=True,
        window="strip",
        twice=True,
        refuse=lambda at: first_refusal(
            double_precision, group_fits(at.block), along_lines, window_fits, strips_fit(at)
        ),
        # One load moves the items. With more work-items a group would not fit in the registers.
        tunable=Tunable(geometries((64, 128, 256), (4,), (4, 6, 8, 12, 16, 24, 48)), strips_fit),
    ),
    *_STENCIL.gpu(
        "tiled",
        rank=20,
        geometry=Geometry(256, 4, 32),  # rows: others
        window="tile",
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), one_pass, along_lines, tile_fits(at)),
        tunable=Tunable(geometries(BLOCKS, (1, 2, 4, 8, 16), (8, 16, 32, 64)), tile_fits),
    ),
    *_STENCIL.gpu(
        "direct",
        rank=10,
        geometry=Geometry(256, 1, 64),  # rows: others
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), one_pass),
        tunable=Tunable(geometries(BLOCKS, (1,), (8, 16, 32, 64, 128)), work_items_fit),
    ),
    _STENCIL.numpy(stencil_numpy, refuse=one_pass),
)
