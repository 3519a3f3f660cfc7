"""Levels of determinism: what calls ask for, what variants reach, and which plans serve which level."""

from __future__ import annotations

import dataclasses
import threading

import numpy as np
import pytest

import gpuprims
from gpuprims.core.determinism import asked_level, asks_for_device, cached_by_level
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError, NoVariantError

# What exact and pairwise sums tell apart.
APART = np.float32([1e8, 1, 1, -1e8])


def reduced(**how: object) -> float:
    return float(gpuprims.reduce(APART, device="reference", **how))


def test_a_call_asks_for_a_level_by_keyword_and_by_scope() -> None:
    assert reduced() == reduced(determinism="device") == 0
    assert reduced(determinism="order") == 2
    with gpuprims.use_determinism("order"):
        assert reduced() == 2
        assert reduced(determinism="device") == 0
        with gpuprims.use_determinism(None):
            assert reduced() == 0
    assert reduced() == 0


def test_a_scope_is_of_its_thread_and_a_choice_outside_of_the_process() -> None:
    seen: list[object] = []
    with gpuprims.use_determinism("device"):
        thread = threading.Thread(target=lambda: seen.append(asked_level()))
        thread.start()
        thread.join()
    gpuprims.use_determinism("order")
    try:
        thread = threading.Thread(target=lambda: seen.append(asked_level()))
        thread.start()
        thread.join()
    finally:
        gpuprims.use_determinism(None)
    assert seen == [None, "order"]
    assert asked_level() is None


@pytest.mark.parametrize("spec", ["reference", None])
def test_warm_calls_and_plans_keep_levels_apart(spec: str | None) -> None:
    device = gpuprims.Device(spec)
    if not device.capabilities.fp64:
        pytest.skip("exact sums need float64")
    x = device.asarray(APART)
    plans = {}
    for level in ("device", "order"):
        with gpuprims.use_determinism(level):  # type: ignore[arg-type]  # one of them
            plans[level] = gpuprims.plan("reduce", x)
    for _ in range(3):  # from the second round on, calls are warm
        for level, expected in (("device", 0), ("order", 2), ("device", 0)):
            with gpuprims.use_determinism(level):  # type: ignore[arg-type]  # one of them
                assert float(device.to_host(gpuprims.reduce(x))) == expected
            assert plans[level].item(x) == expected  # also where another level, or none, is asked for


@pytest.mark.parametrize("level", ["gpu", "Order", 3, True])
def test_a_level_that_is_none(level: object) -> None:
    with pytest.raises(ArgumentError, match="reduce: determinism= one of 'none', 'run', 'device', 'order'; got"):
        gpuprims.reduce(APART, device="reference", determinism=level)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="use_determinism: determinism= one of"):
        gpuprims.use_determinism(level)  # type: ignore[arg-type]


def test_a_level_that_no_variant_reaches_raises() -> None:
    with pytest.raises(NoVariantError, match="reaches the level 'device' of determinism; the call asks for 'order'"):
        reduced(op=gpuprims.Op(lambda a, b: a * b + a + b, 0, commutative=True), determinism="order")
    with pytest.raises(NoVariantError, match="'run' of determinism here, because functions of this call have other"):
        reduced(map="float16(x) * 2", determinism="device")
    with gpuprims.use_determinism("order"), pytest.raises(NoVariantError, match="reaches the level 'device'"):
        gpuprims.reduce(APART, op="var", segments=[0, 2, 4], device="reference")


@pytest.mark.parametrize("primitive", ["reduce", "scan"])
def test_the_error_advises_the_highest_level_that_a_kernel_reaches(primitive: str, device: gpuprims.Device) -> None:
    call, op = getattr(gpuprims, primitive), gpuprims.Op(lambda a, b: a * b + a + b, 0)
    with pytest.raises(NoVariantError, match=r"^[^\n]*determinism='device' runs it"):
        call(APART, op=op, device=device, determinism="order")
    call(APART, op=op, device=device, determinism="device")


def test_a_variant_by_name_must_reach_the_level() -> None:
    with pytest.raises(NoVariantError, match="variant 'numpy' able to run the call; got a refusal: reaches the level"):
        reduced(determinism="order", variant="numpy")
    assert reduced(determinism="device", variant="exact") == 2


def test_racing_kernels_run_by_name_unless_a_level_is_asked_for() -> None:
    own = next(one for one in REGISTRY.variants("reduce", "reference") if one.name == "numpy")
    racing = dataclasses.replace(own, name="racing", rank=-7, level="none")
    gpuprims.register(racing)
    try:
        assert reduced(variant="racing") == reduced(variant="racing", determinism="none") == 0
        with pytest.raises(NoVariantError, match="reaches the level 'none' of determinism; the call asks for 'run'"):
            reduced(variant="racing", determinism="run")
    finally:
        gpuprims.unregister(racing)


def test_what_is_exact_reaches_every_level_by_the_default_kernel(device: gpuprims.Device) -> None:
    for op in ("max", "argmax", "min"):
        explained = gpuprims.explain("reduce", device, op=op, determinism="order")
        assert explained.chosen == gpuprims.explain("reduce", device, op=op).chosen
    explained = gpuprims.explain("reduce", device, dtype="int32", determinism="order")
    assert explained.chosen == gpuprims.explain("reduce", device, dtype="int32").chosen


def test_explain_lists_the_level_of_each_variant() -> None:
    told = str(gpuprims.explain("reduce", "reference", determinism="order"))
    assert "refused numpy          rank 0   device " in told
    assert "chosen  exact          rank -2  order " in told


def test_caches_by_level_keep_results_apart() -> None:
    seen: list[bool] = []

    @cached_by_level(8)
    def made(number: int) -> bool:
        seen.append(asks_for_device())
        return seen[-1]

    for _ in range(2):
        assert not made(1)
        with gpuprims.use_determinism("device"):
            assert made(1)
        with gpuprims.use_determinism("order"):
            assert made(1)
    assert seen == [False, True]
