"""The benchmarks' own parts: oracles that reject, rounds that take turns, reports and the page made of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import gpuprims
from bench import oracles, targets
from bench.ahead import delay_of
from bench.cases import SIZES, WORKS, Case, cases, matches
from bench.clocks import HostClock, Span, clock_of, timed_device
from bench.contenders import PEERS, Contender, contenders, peers_of
from bench.elements import Elements, Samples
from bench.measuring import Arrays, Racer, measure, race

REFERENCE = gpuprims.Device("reference")


def small(work: Any) -> Any:
    return work.inputs.host(600 if isinstance(work.inputs, Samples) else 4096)


def wrong(result: Any) -> Any:
    """A result with one element changed, as a kernel that misses its last tile would."""
    if isinstance(result, tuple):
        return (result[0], wrong(result[1]))
    result = np.array(result)
    result.reshape(-1)[-1:] += 3  # bytes wrap
    return result


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.name)
def test_gpuprims_and_the_host_pass_each_oracle_and_a_wrong_result_does_not(work: Any) -> None:
    host = small(work)
    expected = work.expected(*host)
    work.check(work.host(*host), expected)
    result = work.call(*host, device=REFERENCE)
    work.check(result, expected)
    with pytest.raises(AssertionError):
        work.check(wrong(result), expected)


def test_elements_are_the_same_from_run_to_run_whatever_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs: tuple[Any, ...] = Elements(spread="skewed"), Elements("uint8", shape="pixels"), Samples(3)
    before = [one.host(2**16) for one in inputs]
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    for arrays, one in zip(before, inputs, strict=True):
        for x, y in zip(arrays, one.host(2**16), strict=True):
            np.testing.assert_array_equal(x, y)


def test_running_sums_in_pieces_are_those_of_one_thread() -> None:
    for size in (1, 2, 63, 10_007):
        x = Elements(spread="steps").host(size)[0]
        np.testing.assert_array_equal(oracles.running_sum(x), np.cumsum(x, dtype=np.float64))


def test_both_ends_of_a_blur_are_those_of_the_whole() -> None:
    x = Elements(shape="square").host(2**16)[0]
    for blur in (oracles.cross, oracles.box_9, oracles.gaussian_2):
        oracles.near_blur(blur(x), oracles.first_and_last(blur, x))


def test_cases_have_labels_of_their_own_and_fit() -> None:
    for full in (False, True):
        labels = [case.label for case in cases(REFERENCE, full=full)]
        assert len(labels) == len(set(labels))
    assert list(cases(replace_memory(REFERENCE, 10**6), full=True))[-1].size < 2**18


def replace_memory(device: gpuprims.Device, memory: Any) -> Any:
    class Small:
        capabilities = replace(device.capabilities, memory=memory)

    return Small()


def test_patterns_are_parts_of_labels() -> None:
    assert matches("scan sum, 2^20 float32", None)
    assert matches("scan sum, 2^20 float32", "reduce; SCAN*2^20")
    assert not matches("scan sum, 2^20 float32", "reduce;2^21")


def test_every_target_is_of_a_case_that_is_measured() -> None:
    sizes = {(work.name, size) for work in WORKS for kind in SIZES[work.sizes].__dict__.values() for size in kind}
    named = {(target.case, target.size) for target in targets.TARGETS if target.size != 1000}
    assert named <= sizes


def test_rounds_take_turns() -> None:
    class Fake:
        name = "fake"

        def span(self, call: Any, times: Any = 1) -> Any:
            call()
            return Span(2.0, 1.0)

    called: list[str] = []
    racers: Any = {name: Racer(partial(called.append, name), Fake(), Fake()) for name in "abc"}
    times = race(racers, 0)
    assert "".join(called) == "abc" + "abcbcacab"
    assert (times["a"].device, times["a"].wall_s, times["a"].spread) == ([2.0] * 3, 1.0, 0)


def test_short_calls_begin_while_the_device_is_kept_busy() -> None:
    class Fake:
        name = "fake"

        def span(self, call: Any, times: Any = 1) -> Any:
            called.append(times)
            return Span(1e-4, 1e-3)

    called: list[Any] = []
    race({"a": Racer(list, Fake(), Fake(), lambda seconds: called.append(f"busy {seconds}"))}, 0)
    assert called == [1, *["busy 0.005", 10, 1] * 3]


def test_a_gpu_is_kept_busy_for_longer_if_asked_to(device: gpuprims.Device) -> None:
    timed = timed_device(device)
    clock = clock_of(timed)
    delay = delay_of(timed, clock)
    if device.capabilities.kind != "gpu":
        assert delay is None
        return
    assert delay is not None
    spans = [min(clock.span(partial(delay, seconds)).device for _ in range(3)) for seconds in (0, 4e-3)]
    assert spans[0] < spans[1]


def test_a_wrong_contender_is_not_timed_and_the_others_are() -> None:
    case = Case(WORKS[0], 4096)
    who = [Contender("gpuprims", WORKS[0].call), Contender("off by one", lambda x: 2 * x + 2)]
    who.append(Contender("broken", lambda x: 1 / 0))
    found = measure(REFERENCE, HostClock(REFERENCE.synchronize), None, case, who, Arrays(REFERENCE), 0)
    assert list(found.times) == ["gpuprims"]
    assert list(found.failures) == ["off by one", "broken"]


def test_device_time_is_of_the_device(device: gpuprims.Device) -> None:
    timed = timed_device(device)
    x = timed.asarray(np.ones(2**16, np.float32))
    gpuprims.reduce(x)
    span = clock_of(timed).span(lambda: gpuprims.reduce(x), 20)
    assert 0 < span.device <= 2 * span.wall


def test_contenders_are_gpuprims_first_and_peers_that_are_there(device: gpuprims.Device) -> None:
    case = next(case for case in cases(device, full=False) if case.work.name == "reduce sum")
    names = [who.name for who in contenders(device, case, peers=True, variants=True)]
    there, absent = peers_of(device)
    assert names[0] == "gpuprims"
    assert len(names) == len(set(names))
    assert all(reason.startswith(f"{name} is not measured: ") for name, reason in absent.items())
    assert {peer.name for peer in PEERS if peer.serves(device)} == {peer.name for peer in there} | set(absent)
