"""The variants of stencil. Comments name the rows of measurements.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import BLOCKS, THREAD_GROUPS, Geometry, Tunable, first_refusal, geometries
from gpuprims.core.refusals import double_precision, for_cpus, group_fits, work_item_fits, work_items_fit
from gpuprims.core.variant import Variant
from gpuprims.primitives.stencil.long_rows import MOST_BESIDE, MOST_ON_CPUS, one_long_row
from gpuprims.primitives.stencil.reference import stencil_numpy
from gpuprims.primitives.stencil.refusals import (
    along_columns,
    along_lines,
    block_fits,
    few_rows,
    lines_in_strip,
    one_axis_at_a_time,
    one_pass,
    one_plane,
    planes_fit,
    rolled_well,
    short_rows,
    strips_fit,
    tile_fits,
    tile_in_cache,
    weights_read,
    window_fits,
    written_out,
)
from gpuprims.primitives.stencil.spec import Window
from gpuprims.primitives.stencil.volumes import few_elements, three_axes, volume_fits


@dataclass(frozen=True)
class StencilVariant(Variant):
    """A variant of a stencil."""

    # Where the kernel keeps neighbours; see :mod:`.spec`.
    window: Window = "listed"
    # True if the kernel can apply the stencil twice in one launch.
    twice: bool = False

    @property
    def asks_local_memory(self) -> bool:
        """True if a launch reserves the local memory of a ring."""
        return self.window == "separable"


_STENCIL = Catalogue(StencilVariant, "stencil", Path(__file__).parent)

VARIANTS = (
    _STENCIL.cpu(
        "cpu_long_rows",
        rank=42,
        geometry=Geometry(1, 1024, 8),  # rows: cpu_long_rows
        window="long row",
        refuse=lambda at: first_refusal(
            for_cpus, double_precision, one_pass, along_lines, weights_read, one_long_row(MOST_ON_CPUS)
        ),
    ),
    _STENCIL.cpu(
        "cpu_rows",
        rank=40,
        geometry=Geometry(1, 1024, 8),  # rows: cpu_rows
        window="ring",
        refuse=lambda at: first_refusal(for_cpus, double_precision, along_lines, written_out, few_rows),
        # The primitive halves the items until a window fits in a core's cache.
        tunable=Tunable(geometries((1,), (256, 512, 1024, 2048, 4096, 8192), THREAD_GROUPS), work_item_fits),
    ),
    _STENCIL.cpu(
        "cpu_dense",
        rank=35,
        geometry=Geometry(1, 256, 8),  # rows: cpu_dense
        window="rows",
        refuse=lambda at: first_refusal(for_cpus, double_precision, one_pass, along_lines, weights_read, tile_in_cache),
    ),
    *_STENCIL.gpu(
        "long_rows",
        rank=33,
        geometry=Geometry(128, 16),  # rows: long_rows
        window="long row",
        refuse=lambda at: first_refusal(
            double_precision, group_fits(at.block), one_pass, along_lines, weights_read, one_long_row(MOST_BESIDE)
        ),
    ),
    *_STENCIL.gpu(
        "separable",
        rank=32,
        geometry=Geometry(128, 16),  # rows: separable
        window="separable",
        refuse=lambda at: first_refusal(
            double_precision, along_lines, one_plane, one_axis_at_a_time, rolled_well, lines_in_strip(at)
        ),
    ),
    *_STENCIL.gpu(
        "rolling",
        rank=30,
        geometry=Geometry(128, 4, 12),  # rows: rolling
        vectors=True,
        window="strip",
        twice=True,
        refuse=lambda at: first_refusal(
            double_precision,
            group_fits(at.block),
            along_lines,
            one_plane,
            written_out,
            short_rows,
            window_fits,
            strips_fit(at),
        ),
        # One load moves the items. With more work-items a group would not fit in the registers.
        tunable=Tunable(geometries((64, 128, 256), (4,), (4, 6, 8, 12, 16, 24, 48)), strips_fit),
    ),
    *_STENCIL.gpu(
        "volumes",
        rank=29,
        geometry=Geometry(256, 8),  # rows: volumes
        vectors=True,
        window="volume",
        refuse=lambda at: first_refusal(double_precision, along_lines, three_axes, volume_fits(at)),
        yields=few_elements,
    ),
    *_STENCIL.gpu(
        "planes",
        rank=28,
        geometry=Geometry(256, 4, 4),  # rows: planes
        vectors=True,
        window="planes",
        refuse=lambda at: first_refusal(
            double_precision, group_fits(at.block), one_pass, along_lines, written_out, short_rows, planes_fit
        ),
    ),
    *_STENCIL.gpu(
        "columns",
        rank=26,
        geometry=Geometry(128, 16, 8),  # rows: columns
        window="columns",
        refuse=lambda at: first_refusal(
            double_precision, group_fits(at.block), one_pass, along_lines, weights_read, along_columns
        ),
    ),
    *_STENCIL.gpu(
        "dense",
        rank=24,
        geometry=Geometry(128, 4),  # rows: dense
        window="dense",
        refuse=lambda at: first_refusal(double_precision, one_pass, along_lines, weights_read, block_fits(at)),
    ),
    *_STENCIL.gpu(
        "tiled",
        rank=20,
        geometry=Geometry(256, 4, 32),  # rows: others
        window="tile",
        refuse=lambda at: first_refusal(
            double_precision, group_fits(at.block), one_pass, along_lines, one_plane, written_out, tile_fits(at)
        ),
        tunable=Tunable(geometries(BLOCKS, (1, 2, 4, 8, 16), (8, 16, 32, 64)), tile_fits),
    ),
    *_STENCIL.gpu(
        "direct",
        rank=10,
        geometry=Geometry(256, 1, 64),  # rows: others
        level="order",
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), one_pass),
        tunable=Tunable(geometries(BLOCKS, (1,), (8, 16, 32, 64, 128)), work_items_fit),
    ),
    _STENCIL.numpy(stencil_numpy, refuse=one_pass, level="order"),
)
