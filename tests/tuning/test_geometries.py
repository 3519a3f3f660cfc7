"""Geometries that kernels are written for."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_cases import as_it_stands, extreme_shapes, is_guest
from tuned import QUICK, able, runs

import gpuprims
from gpuprims.core.geometry import Geometry, Tunable, geometries
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.errors import (
    NoVariantError,
    RegistryError,
)
from gpuprims.primitives.fold_variants import ScanVariant
from gpuprims.tuning.cases import PRIMITIVES, case_of


def test_shapes_one_step_away_differ_in_one_number() -> None:
    some = Tunable(geometries((64, 128, 256), (2, 4), (1, 8), most_elements=512), able)
    assert Geometry(256, 4, 1) not in some.geometries
    assert set(some.beside(Geometry(128, 4, 1))) == {Geometry(64, 4, 1), Geometry(128, 2, 1), Geometry(128, 4, 8)}
    assert set(some.beside(Geometry(96, 4, 1))) == {Geometry(64, 4, 1), Geometry(128, 4, 1)}
    assert Geometry(64, 4, 2).distance(Geometry(128, 1, 2)) == 3
    assert str(Geometry(64, 4, 2)) == "64 x 4, 2 groups a unit"


def test_a_variant_takes_only_shapes_that_it_is_written_for() -> None:
    assert QUICK.with_geometry(Geometry(1, 16)) is QUICK.with_geometry(Geometry(1, 16))
    assert QUICK.with_geometry(QUICK.geometry) is QUICK
    with pytest.raises(RegistryError, match="map/quick: a geometry that it may have; got 1 x 3"):
        QUICK.with_geometry(Geometry(1, 3))


def test_a_variant_may_be_given_in_a_shape(path: Path, offered: Any) -> None:
    offered(QUICK)
    assert runs(variant=QUICK.with_geometry(Geometry(1, 16))) == ("quick", 16)
    refusing = dataclasses.replace(QUICK, refuse=lambda capabilities, call: "is busy")
    with pytest.raises(NoVariantError, match="is busy"):
        runs(variant=refusing)


@pytest.mark.parametrize("backend", ["cuda", "opencl"])
def test_every_registered_shape_is_among_those_it_may_be_tuned_to(backend: str) -> None:
    every = [variant for primitive in PRIMITIVES for variant in REGISTRY.variants(primitive, backend)]
    tunable = [variant for variant in every if variant.tunable is not None]
    assert len(tunable) >= 10
    for variant in tunable:
        assert variant.tunable is not None
        assert variant.geometry in variant.tunable.geometries
        assert variant.deterministic
        assert len(set(variant.tunable.geometries)) == len(variant.tunable.geometries)


def test_twins_may_be_tuned_to_the_same_shapes() -> None:
    for primitive in PRIMITIVES:
        twins = {variant.name: variant.tunable for variant in REGISTRY.variants(primitive, "opencl")}
        for variant in REGISTRY.variants(primitive, "cuda"):
            if variant.name in twins:  # a kernel for CUDA alone has none
                assert variant.tunable is twins[variant.name]


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_kernels_compute_the_same_in_every_shape(
    primitive: str, device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    for variant in REGISTRY.variants(primitive, device.backend):
        guest = is_guest(device.capabilities.kind, variant.name)
        if guest and not pytestconfig.getoption("whole"):  # nobody tunes it for this device
            continue
        with monkeypatch.context() as patched:
            if guest:
                as_it_stands(patched)
            ran = [computes_alike(device, variant.with_geometry(shape)) for shape in extreme_shapes(variant)]
        assert any(ran) or variant.tunable is None or not computes_alike(device, variant)


def computes_alike(device: gpuprims.Device, variant: Variant) -> bool:
    """Hold a variant against NumPy; return whether it takes the calls."""
    rng, case = np.random.default_rng(20261122), case_of(variant.primitive)
    try:
        for dtype in ("uint8",) if variant.name == "bytes" else ("float32", "uint8"):
            for size in (1, 10_007, 300_013):
                x = case.elements(rng, np.dtype(dtype), size)
                np.testing.assert_array_equal(case.run(x, device=device, variant=variant), case.expected(x))
        if variant.primitive == "scan" and ScanVariant.of(variant).scratch != "none":  # which also rank what is kept
            x = rng.standard_normal(100_003).astype(np.float32)
            kept = gpuprims.compact(x, "x > 0", device=device, variant=variant)  # type: ignore[call-overload]  # undocumented
            np.testing.assert_array_equal(kept, x[x > 0])
    except NoVariantError:
        return False
    return True
