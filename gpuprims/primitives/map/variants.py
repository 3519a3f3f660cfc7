"""The variants of map."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import BLOCKS, Geometry, Tunable, first_refusal, geometries
from gpuprims.core.refusals import (
    double_precision,
    for_cpus,
    group_fits,
    work_item_fits,
    work_items_fit,
)
from gpuprims.primitives.map.blocks import in_blocks
from gpuprims.primitives.map.reference import map_numpy
from gpuprims.primitives.map.shifts import between_vectors
from gpuprims.primitives.map.tiles import MapVariant, across

_MAP = Catalogue(MapVariant, "map", Path(__file__).parent)

VARIANTS = (
    _MAP.cpu(
        "cpu_blocks",
        rank=25,
        geometry=Geometry(1, 16384),
        by_rows=True,
        blocks=True,
        refuse=lambda at: first_refusal(for_cpus, in_blocks, double_precision),
    ),
    _MAP.cpu(
        "cpu_chunks",
        rank=20,
        geometry=Geometry(1, 16384),
        by_rows=True,
        refuse=lambda at: first_refusal(for_cpus, double_precision),
        tunable=Tunable(geometries((1,), tuple(2**k for k in range(10, 21))), work_item_fits),
    ),
    *_MAP.gpu(
        "tile",
        rank=15,
        geometry=Geometry(256, 4),  # rows: tile
        tiles=True,
        refuse=lambda at: first_refusal(across, double_precision, group_fits(at.block)),
    ),
    *_MAP.gpu(
        "shifted",
        rank=12,
        geometry=Geometry(256, 4),  # rows: shifted
        shifts=True,
        refuse=lambda at: first_refusal(between_vectors, double_precision, group_fits(at.block)),
    ),
    *_MAP.gpu(
        "grid",
        rank=10,
        geometry=Geometry(256, 4),  # rows: grid
        vectors=True,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block)),
        tunable=Tunable(geometries(BLOCKS, (1, 2, 4, 8, 16)), work_items_fit),
    ),
    _MAP.numpy(map_numpy),
)
