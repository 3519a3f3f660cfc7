"""profile(counters=True): kernels that stamp a clock at each of their numbered steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.core import stamps
from gpuprims.core.registry import REGISTRY
from gpuprims.core.stamps import stamped
from gpuprims.core.watched import WATCHERS
from gpuprims.errors import ArgumentError, BuildError, RegistryError
from gpuprims.primitives.sgd import logistic_sgd
from gpuprims.profiling import profile
from gpuprims.testing import check_variant

VARIANTS = [
    variant
    for name in REGISTRY.primitive_names
    for backend in ("cuda", "opencl")
    for variant in REGISTRY.variants(name, backend)
]
KERNELS = sorted({(variant.path, variant.entry) for variant in VARIANTS})
# Kernels whose steps are those of functions that they call.
INNER = {
    "histogram_global_atomic", "hogwild_lock_free", "hogwild_racy", "map_cpu_chunks", "scan_each", "stencil_rolling",
}  # fmt: skip
TEXT = """\
__kernel WORK_GROUP(BLOCK)
void fold_one(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    /* 1. Load the tile. Each work-item takes some. */
    if (n == 0) return;
    /* 2. Store, where
     *    there is room. */
}
#if 0
__kernel void fold_one(INPUTS, const layout_t layout LOCAL_PARAMETER)
{
    /* 1. Count. */
}
#endif
"""


@pytest.fixture(autouse=True)
def no_measurement(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(profile, "copy_rate", lambda device: 1e9)
    yield
    assert WATCHERS == []


@pytest.fixture
def compiling(device: gpuprims.Device, pytestconfig: pytest.Config) -> gpuprims.Device:
    if device.backend == "reference":
        pytest.skip("the reference compiles no kernels")
    if device.spec != gpuprims.devices()[0].spec and not pytestconfig.getoption("whole"):
        pytest.skip("kernels compiled anew; runs with --whole")
    return device


def test_stamps_are_at_steps_and_ends_and_move_no_line() -> None:
    text, phases = stamped(TEXT, "fold_one")
    assert phases == ("before the first step", "1. Load the tile", "2. Store, where there is room", "1. Count")
    assert text.count("GLOBAL u64 *gp_phases, const layout_t layout") == 2
    assert text.count("GP_PHASES_BEGIN") == 2
    assert text.count("GP_PHASES_END") == 3  # of two kernels, and of a return
    assert "some. */ GP_PHASE(1)" in text
    assert "{ GP_PHASES_END return; }" in text
    assert len(text.splitlines()) == len(TEXT.splitlines())


def test_a_file_without_the_kernel_is_no_kernel_file() -> None:
    with pytest.raises(RegistryError, match="fold_two: a kernel of this name in its file"):
        stamped(TEXT, "fold_two")


@pytest.mark.parametrize(("path", "entry"), KERNELS, ids=[path.stem for path, _ in KERNELS])
def test_every_kernel_can_be_stamped(path: Path, entry: str) -> None:
    plain = path.read_text()
    text, phases = stamped(plain, entry)
    assert text.count("GLOBAL u64 *gp_phases, const layout_t") == plain.count(f"void {entry}(")
    assert len(phases) > 1 or path.stem in INNER
    assert text.count("\n") == plain.count("\n")


def test_phases_are_the_kernels_steps(compiling: gpuprims.Device, rng: np.random.Generator, tmp_path: Path) -> None:
    X = rng.standard_normal((300, 40), dtype=np.float32)
    y = (X[:, 0] > 0).astype(np.float32)
    order = np.arange(300, dtype=np.int32)

    def fit() -> np.ndarray:
        start = np.zeros(41, np.float32)
        found: np.ndarray = logistic_sgd(X, y, start, order, rate=0.1, variant="linear", device=compiling)
        return found

    with gpuprims.profile() as plain:
        expected = fit()
        with gpuprims.profile(counters=True) as seen:
            found = fit()
        again = fit()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(again, expected)
    (launch,) = seen.launches
    names = [phase.name for phase in launch.phases]
    assert names[:3] == ["before the first step", "1. Copy the weights", "2. Multiply the parts of the sample"]
    assert names[3:] == ["3. Add them up, one after the other", "4. Change the weights", "5. Store the intercept"]
    assert sum(phase.share for phase in launch.phases) == pytest.approx(1)
    assert all(phase.ticks > 0 for phase in launch.phases)
    steps = {phase.name[0]: phase.ticks for phase in launch.phases}
    assert steps["4"] > steps["5"]  # 300 times and once
    assert [one.phases == () for one in plain.launches] == [True, True, True]
    assert "    4. Change the weights" in seen.table()
    assert "Change the weights" not in plain.table()
    seen.to_json(tmp_path / "seen.json")
    told = json.loads((tmp_path / "seen.json").read_text())["launches"][0]["phases"]
    assert [one["ticks"] for one in told] == [phase.ticks for phase in launch.phases]


def test_results_are_the_same_with_many_groups(compiling: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.integers(-100, 100, 300_001, np.int32)
    with gpuprims.profile(counters=True) as seen:
        total = gpuprims.reduce(compiling.asarray(x))
        assert int(compiling.to_host(total)) == x.sum()
    assert seen.launches
    assert all(launch.phases for launch in seen.launches)


def test_numpy_has_no_phases() -> None:
    with gpuprims.profile(counters=True) as seen:
        gpuprims.reduce(np.ones(1000), device="reference")
    assert [launch.phases for launch in seen.launches] == [()]


def test_a_device_without_a_clock_is_refused(compiling: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(*_: Any) -> None:
        raise BuildError(f"error: {stamps.NO_CLOCK}")

    with gpuprims.profile(counters=True):
        monkeypatch.setattr(compiling.driver.real, "build", build)  # type: ignore[attr-defined]
        monkeypatch.setattr(compiling._kernels, "find", lambda key, made: None)
        with pytest.raises(
            ArgumentError, match=r"profile: counters=True with a device whose kernels read a clock; got"
        ):
            gpuprims.scan(np.ones(77_777, np.float32), device=compiling)
        monkeypatch.undo()


def test_other_values_are_refused() -> None:
    with pytest.raises(ArgumentError, match="profile: counters= True or False; got 1"):
        gpuprims.profile(counters=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("label", [variant.label for variant in VARIANTS])
def test_every_variant_computes_the_same_with_stamps(
    compiling: gpuprims.Device, label: str, pytestconfig: pytest.Config
) -> None:
    if not pytestconfig.getoption("whole") or not label.startswith(f"{compiling.backend} "):
        pytest.skip("every kernel compiled anew; runs with --whole")
    with gpuprims.profile(counters=True):
        check_variant(label, compiling)
