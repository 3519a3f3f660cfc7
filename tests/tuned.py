"""A variant to tune, a file of choices and calls that use them, for tests of tuning."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.core import tuned_choices as tuning
from gpuprims.core.geometry import Geometry, Tunable, geometries
from gpuprims.core.registry import REGISTRY
from gpuprims.core.tuned_choices import Entry, Named, Place
from gpuprims.core.variant import Variant

REFERENCE = gpuprims.Device("reference")
HERE = Place.of("reference", REFERENCE.capabilities)
SIZE = 4096
X = np.arange(SIZE, dtype=np.float32)
NUMPY = REGISTRY.variants("map", "reference")[0]


def able(shape: Geometry) -> Callable[..., str | None]:
    return lambda capabilities, call: None


QUICK = dataclasses.replace(
    NUMPY, name="quick", rank=-1, geometry=Geometry(1, 4), tunable=Tunable(geometries((1,), (1, 2, 4, 8, 16)), able)
)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file of choices that is not there yet."""
    monkeypatch.setenv("GPUPRIMS_TUNING", str(tmp_path / "kept" / "tuning.json"))
    tuning.forget()
    yield tmp_path / "kept" / "tuning.json"
    tuning.forget()


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Registers variants of the reference's map for one test."""

    def offer(*variants: Variant) -> None:
        known = {variant.name: variant for variant in (NUMPY, *variants)}
        monkeypatch.setattr(REGISTRY, "_variants", REGISTRY._variants | {("reference", "map"): known})
        REGISTRY.outdate()

    return offer


def entry(**changed: Any) -> Entry:
    default, chosen = Named("numpy", NUMPY.geometry), Named("quick", Geometry(1, 8))
    of = Entry("map", "float32", 4, SIZE, 256, default, chosen, 2e-3, 1e-3, "2026-11-22", {})
    return dataclasses.replace(of, **changed)


def runs(x: Any = X, **how: Any) -> tuple[str, int]:
    """Return which variant a call runs, and its items."""
    variant = gpuprims.plan("map", "2*x + 1", x, device="reference", **how).variant
    np.testing.assert_array_equal(gpuprims.map("2*x + 1", x, device="reference", **how), 2 * x + 1)
    return variant.name, variant.items
