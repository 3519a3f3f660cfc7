"""The calls that devices are tuned on, and how they are timed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tuned import NUMPY, REFERENCE, SIZE, entry

import gpuprims
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuned_choices import Named, Place, write_entries
from gpuprims.core.variant import Choice, Variant
from gpuprims.tuning.cases import PRIMITIVES, case_of, traits_of
from gpuprims.tuning.timing import Stopwatch


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_trials_know_what_numpy_makes_of_them(primitive: str, dtype: str) -> None:
    case = case_of(primitive)
    x = case.elements(np.random.default_rng(1), np.dtype(dtype), 5003)
    got, expected = case.run(x, device="reference"), case.expected(x)
    assert np.asarray(got).dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)
    assert len(np.unique(expected)) > 3 or primitive == "reduce"


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_what_is_measured_is_what_explain_asks_for(primitive: str, device: gpuprims.Device) -> None:
    case = case_of(primitive)
    x = case.elements(np.random.default_rng(1), np.dtype(np.float32), SIZE)
    call = traits_of(case, device, x)
    chosen = device.ranked(primitive, call).ranked
    assert chosen is not None
    named = Named(chosen.name, chosen.geometry)
    measured = entry(primitive=primitive, value_bytes=call.value_bytes, measured=call.measured, default=named, least=1)
    asked = []

    def listen(ranked: Variant, told: CallTraits) -> Choice | None:
        asked.append(measured.covers(told))
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpuprims.core.device.tuned_on", lambda *of: listen)
        gpuprims.explain(primitive, device, size=SIZE)
    assert asked == [True]


def test_a_real_choice_is_used_on_a_real_device(path: Path, device: gpuprims.Device) -> None:
    x = np.ones(5000, np.float32)
    ranked = gpuprims.plan("map", "x + 1", x, device=device).variant
    if ranked.tunable is None:
        pytest.skip("has one shape")
    other = ranked.with_geometry(next(one for one in ranked.tunable.geometries if one != ranked.geometry))
    names = {"default": Named(ranked.name, ranked.geometry), "chosen": Named(other.name, other.geometry)}
    write_entries(path, {Place.of(device.backend, device.capabilities): [entry(**names)]})
    assert gpuprims.plan("map", "x + 1", x, device=device).variant is other
    np.testing.assert_array_equal(gpuprims.map("x + 1", x, device=device), x + 1)


def test_a_stopwatch_repeats_short_calls() -> None:
    calls = []
    assert Stopwatch(REFERENCE, least=1e-3)(NUMPY, lambda: calls.append(1)) < 1e-3
    assert len(calls) > 2
