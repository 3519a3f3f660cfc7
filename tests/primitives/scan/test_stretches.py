"""scan/fixed_round_robin with small tiles, so that few elements fill all levels of its order."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from kernel_cases import AFFINE, as_it_stands, bits

import gpuprims
from gpuprims.core.geometry import Geometry
from gpuprims.core.registry import REGISTRY
from gpuprims.primitives import fixed_scans, fold_variants

RUN, TILE = 2, 256
SUPERTILE = TILE * TILE  # has as many tiles as a tile has elements
# Two tiles at once, and two runs of one for each work-item.
SMALL = Geometry(128, 2 * RUN, 1)


@pytest.fixture
def variant(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> fold_variants.ScanVariant:
    """The kernel with small tiles, which refuses no device; the reference has them too."""
    if device.backend == "reference":
        pytest.skip("is the oracle")
    as_it_stands(monkeypatch)
    for module in (fixed_scans, fold_variants):
        monkeypatch.setattr(module, "RUN", RUN)
        monkeypatch.setattr(module, "TILE", TILE)
    known = {one.name: one for one in REGISTRY.variants("scan", device.backend)}["fixed_round_robin"]
    return dataclasses.replace(  # type: ignore[return-value]  # a ScanVariant
        known, refuse=lambda able, call: None, geometry=SMALL, word_items=False
    )


@pytest.mark.parametrize("inclusive", [True, pytest.param(False, marks=pytest.mark.whole)])
def test_each_level_has_the_order_of_the_reference(
    device: gpuprims.Device, rng: np.random.Generator, variant: fold_variants.ScanVariant, *, inclusive: bool
) -> None:
    """Runs, supertiles, and runs of supertiles end within a group's turn, before it and after it."""
    for size in (TILE + 1, 5 * TILE * RUN + 3, SUPERTILE, SUPERTILE + 1, 2 * RUN * SUPERTILE + 7 * TILE + 5):
        slopes, offsets = rng.uniform(0.99, 1.01, (2, size)).astype(np.float32)
        how = {"op": AFFINE, "inclusive": inclusive, "determinism": "device"}
        got = gpuprims.scan(slopes, offsets, device=device, variant=variant, **how)
        assert bits(got) == bits(gpuprims.scan(slopes, offsets, device="reference", **how))


@pytest.mark.whole
def test_each_row_begins_anew(
    device: gpuprims.Device, rng: np.random.Generator, variant: fold_variants.ScanVariant
) -> None:
    x = rng.standard_normal((5, 9 * TILE + 7)).astype(np.float32)
    for rows, axis in ((x, 1), (x[:, ::-1], 1), (x.T, 0), (x.astype(np.float64), None)):
        got = gpuprims.scan(rows, axis=axis, device=device, determinism="device", variant=variant)
        assert bits(got) == bits(gpuprims.scan(rows, axis=axis, device="reference", determinism="device"))
