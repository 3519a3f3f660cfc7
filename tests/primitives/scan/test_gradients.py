"""Gradients through scans: every variant against derivatives written out by hand, one element after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from kernel_calls import CompilingDriver, resident
from kernel_cases import Kernel, on_device, on_host
from queue_cases import GPU, LONG, with_bulk_copies

import gpuprims
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import NoVariantError
from gpuprims.expressions import expression
from gpuprims.primitives.queues import queueable
from gpuprims.primitives.scan.adjoint import Step, adjoint_folding, needed
from gpuprims.primitives.scan.gradients import scan_gradients

Arrays = Sequence[np.ndarray]


def _prod(h: Arrays, x: Arrays, g: Arrays) -> tuple[Arrays, Arrays]:
    return [g[0] * x[0]], [g[0] * h[0]]


def _max(h: Arrays, x: Arrays, g: Arrays) -> tuple[Arrays, Arrays]:
    stays = h[0] >= x[0]
    return [np.where(stays, g[0], 0)], [np.where(stays, 0, g[0])]


def _linear(h: Arrays, x: Arrays, g: Arrays) -> tuple[Arrays, Arrays]:
    return [g[0] * x[0]], [g[0] * h[0], g[0]]


def _log_sum(h: Arrays, x: Arrays, g: Arrays) -> tuple[Arrays, Arrays]:
    share = np.exp(h[0] - np.logaddexp(h[0], x[0]))
    return [g[0] * share], [g[0] * (1 - share)]


def _affine(h: Arrays, x: Arrays, g: Arrays) -> tuple[Arrays, Arrays]:
    return [g[0] * x[0], g[1] * x[0]], [g[0] * h[0] + g[1] * h[1], g[1]]


def _complex(h: Arrays, x: Arrays, g: Arrays) -> tuple[Arrays, Arrays]:
    def turned(one: Arrays) -> Arrays:
        return [g[0] * one[0] + g[1] * one[1], g[1] * one[0] - g[0] * one[1]]

    return turned(x), turned(h)


def _rotation(h: Arrays, x: Arrays, g: Arrays) -> tuple[Arrays, Arrays]:
    """Return the gradients of a product modulo 1 - z**3 of polynomials of z."""

    def turned(one: Arrays) -> Arrays:
        return [sum(g[(r + c) % 3] * one[c] for c in range(3)) for r in range(3)]

    return turned(x), turned(h)


def _matrix(h: Arrays, x: Arrays, g: Arrays) -> tuple[Arrays, Arrays]:
    """Return the gradients of a product of a matrix and a vector; matrices do not commute."""
    by_state = [g[0] * x[0] + g[1] * x[2], g[0] * x[1] + g[1] * x[3]]
    return by_state, [above * one for above in g for one in h]


# The step, the state before the first element, and the gradients by both, written out by hand.
STEPS: dict[str, tuple[Any, tuple[float, ...], Callable[..., Any]]] = {
    "prod": ("a*b", (1,), _prod),
    "max": ("maximum(a, b)", (-np.inf,), _max),
    "linear": ("h*a + b", (0,), _linear),
    "log sum": ("maximum(a, b) + log1p(exp(-abs(a - b)))", (-1e30,), _log_sum),
    "affine": (lambda a, b, c, d: (a * c, b * c + d), (1, 0), _affine),
    "complex": (lambda a, b, c, d: (a * c - b * d, a * d + b * c), (1, 0), _complex),
    "matrix": (lambda v, w, a, b, c, d: (a * v + b * w, c * v + d * w), (1, -0.5), _matrix),
    "rotation": (
        lambda a, b, c, d, e, f: (a * d + b * f + c * e, a * e + b * d + c * f, a * f + b * e + c * d),
        (1, 0, 0),
        _rotation,
    ),
}


def _step(name: str) -> Step:
    function, start, _ = STEPS[name]
    arity = None if isinstance(function, str) else function.__code__.co_argcount
    return Step(expression(function, arity), start)


def _given(rng: np.random.Generator, name: str, shape: tuple[int, ...], axis: int, reverse: bool) -> Any:
    """Return states, elements and the gradients above, whose products over rows stay near 1, as float64."""
    step = _step(name)
    elements = [rng.uniform(0.9, 1.1, shape) * rng.choice([-1, 1], shape) for _ in range(step.elements)]
    if step.states > 1:
        elements = [one * (0.7, 0.5)[step.elements > 2] for one in elements]
    if name == "max":
        elements = [np.round(one, 1) for one in elements]  # some are equal
    above = [rng.standard_normal(shape) for _ in step.start]
    order = range(shape[axis])[:: -1 if reverse else 1]
    states = [np.empty(shape) for _ in step.start]
    before: Any = step.start
    for k in order:
        before = step.function(*before, *(one.take(k, axis) for one in elements))
        before = before if isinstance(before, tuple) else (before,)
        for state, value in zip(states, before, strict=True):
            np.moveaxis(state, axis, 0)[k] = value
    return states, elements, above


def _expected(name: str, states: Arrays, elements: Arrays, above: Arrays, axis: int, reverse: bool) -> list[np.ndarray]:
    """Pass gradients on from one element to the one before."""
    _, start, gradients = STEPS[name]
    found = [np.empty(one.shape) for one in elements]
    order = range(states[0].shape[axis])[:: 1 if reverse else -1]
    later: Arrays = [np.zeros_like(one.sum(axis)) for one in above]
    for place, k in enumerate(order, 1):
        last = place == len(order)
        before = (
            [np.full_like(later[0], value) for value in start]
            if last
            else [one.take(order[place], axis) for one in states]
        )
        whole = [one.take(k, axis) + more for one, more in zip(above, later, strict=True)]
        later, own = gradients(before, [one.take(k, axis) for one in elements], whole)
        for one, value in zip(found, own, strict=True):
            np.moveaxis(one, axis, 0)[k] = value
    return found


def _check(run: Callable[..., Any], name: str, given: Any, axis: int, reverse: bool, dtype: str = "float32") -> None:
    stored = [[one.astype(dtype) for one in some] for some in given]
    got = run(_step(name), *stored, axis, reverse=reverse)
    exact = [[one.astype(np.float64) for one in some] for some in stored]
    expected = _expected(name, *exact, axis, reverse)
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == dtype
        scale = 1 + np.abs(other).max(initial=0)
        np.testing.assert_allclose(
            one / scale, other / scale, atol={"float32": 2e-5, "float16": 4e-3}.get(dtype, 1e-12)
        )


@pytest.fixture
def run(scan_kernel: Kernel) -> Callable[..., Any]:
    """Compute gradients by a variant; skip the test if it refuses the call."""

    def compute(*given: Any, **how: Any) -> Any:
        try:
            return scan_gradients(*given, device=scan_kernel.device, variant=scan_kernel.variant.name, **how)
        except NoVariantError as error:
            pytest.skip(str(error))

    return compute


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize(
    ("shape", "axis"), [((67,), 0), ((40, 33), 0), ((3, 5, 50), 1), ((1100, 9), 1), ((9, 2100), 0)], ids=str
)
def test_every_step(
    run: Callable[..., Any], rng: np.random.Generator, name: str, shape: tuple[int, ...], axis: int, reverse: bool
) -> None:
    _check(run, name, _given(rng, name, shape, axis, reverse), axis, reverse)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_few_elements(device: gpuprims.Device, rng: np.random.Generator, size: int, reverse: bool) -> None:
    run = partial(scan_gradients, device=device)
    for name in ("prod", "linear", "affine"):
        for shape, axis in (((size,), 0), ((17, size), 1), ((size, 17), 0)):
            _check(run, name, _given(rng, name, shape, axis, reverse), axis, reverse)


def test_every_boundary(scan_kernel: Kernel, run: Callable[..., Any], rng: np.random.Generator) -> None:
    for size in {one + 1 for one in scan_kernel.scan_sizes(np.float32, np.float32)}:
        a, above = rng.uniform(-1, 1, size).astype("f4"), rng.standard_normal(size).astype("f4")
        h = rng.standard_normal(size).astype("f4")
        (by_factor, by_term) = run(_step("linear"), [h], [a, a], [above], 0, reverse=False)
        g, expected = 0.0, []
        for k in reversed(range(size)):
            g = float(above[k]) + g
            expected.append(g)
            g *= float(a[k])
        terms = np.array(expected[::-1])
        np.testing.assert_allclose(by_term, terms, atol=2e-4)
        np.testing.assert_allclose(by_factor[1:], terms[1:] * h[:-1], atol=1e-3)
        assert by_factor[0] == 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes_and_layouts(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    if dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("needs float64")
    compute = partial(scan_gradients, device=device)
    states, elements, above = _given(rng, "affine", (12, 30), 1, False)
    _check(compute, "affine", (states, elements, above), 1, False, dtype)
    views = [[np.repeat(one, 2, 1)[:, ::2] for one in some] for some in (states, elements)]
    whole = [np.broadcast_to(one[:, :1], one.shape) for one in above]
    _check(compute, "affine", (*views, whole), 1, False, dtype)


def test_arrays_of_a_device(device: gpuprims.Device, rng: np.random.Generator) -> None:
    given = [[one.astype("f4") for one in some] for some in _given(rng, "linear", (5, 1000), 1, True)]
    there = [[on_device(device, one) for one in some] for some in given]
    got, wanted = (scan_gradients(_step("linear"), *some, 1, reverse=True, device=device) for some in (there, given))
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(on_host(device, one), other)


def test_a_call_like_an_earlier_one_is_not_described_again(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = [[one.astype("f4") for one in some] for some in _given(rng, "linear", (500,), 0, False)]
    given = [[on_device(device, one) for one in some] for some in arrays]
    for _ in range(2):  # the first call of a process may load variants, and calls kept before are forgotten then
        first = scan_gradients(_step("linear"), *given, 0, reverse=False, device=device)
    monkeypatch.setattr("gpuprims.primitives.scan.gradients.as_operands", None)
    again = scan_gradients(_step("linear"), *given, 0, reverse=False, device=device)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(on_host(device, one), on_host(device, other))


def test_two_launches_read_each_array_once(device: gpuprims.Device, rng: np.random.Generator) -> None:
    n = 100_000
    arrays = [rng.standard_normal(n).astype("f4") for _ in range(4)]
    given = [[on_device(device, one) for one in some] for some in (arrays[:1], arrays[1:3], arrays[3:])]
    scan_gradients(_step("linear"), *given, 0, reverse=False, device=device)
    with gpuprims.profile() as seen:
        scan_gradients(_step("linear"), *given, 0, reverse=False, device=device)
    launched = [one.kernel.partition("/")[0] for one in seen.launches]
    assert launched[-1] == "map"
    scans = [one for one in seen.launches if one.kernel.startswith("scan")]
    assert len(launched) == 1 + len(scans)
    # The term is in no derivative: states, factors and gradients are read, two gradients written.
    assert max(one.nbytes for one in scans) == 5 * 4 * n


@pytest.mark.parametrize("name", STEPS)
def test_bits_are_those_of_the_reference_at_the_level_device(
    device: gpuprims.Device, rng: np.random.Generator, name: str
) -> None:
    given = [[one.astype("f4") for one in some] for some in _given(rng, name, (3000,), 0, False)]
    with gpuprims.use_determinism("device"):
        got, wanted = (
            scan_gradients(_step(name), *given, 0, reverse=False, device=where) for where in (device, "reference")
        )
    for one, other in zip(got, wanted, strict=True):
        assert one.tobytes() == other.tobytes()


def _asked(step: Step, *, reverse: bool = False, dtype: str = "float32") -> Any:
    driver = CompilingDriver("cuda", GPU)
    given = [[resident(LONG, dtype=dtype) for _ in range(k)] for k in (step.states, step.elements, step.states)]
    scan_gradients(step, *given, 0, reverse=reverse, device=gpuprims.Device._of(driver))
    return driver.asked[0]


@pytest.mark.parametrize("name", STEPS)
def test_queues_take_values_that_stay_in_registers(name: str) -> None:
    variant, spec = _asked(_step(name))
    assert variant.name == "queues"
    assert spec.rereads
    assert (spec.late, spec.places) == (True, 1)
    assert variant.items * len(spec.inputs) <= (72 if spec.runs == 256 else 80)  # which a work-item holds
    assert len(spec.values) == {"affine": 3, "complex": 4, "matrix": 6, "rotation": 6}.get(name, 2)


@pytest.mark.parametrize(
    ("name", "dtype", "numbers"),
    [
        ("prod", "float32", (256, 9, 7)),
        ("prod", "float16", (256, 22, 5)),
        ("prod", "float64", (128, 13, 5)),
        ("affine", "float32", (256, 7, 5)),
        ("affine", "float64", (128, 7, 5)),
        ("complex", "float16", (256, 10, 5)),
        ("complex", "float32", (128, 13, 5)),
        ("complex", "float64", (128, 5, 5)),
    ],
)
def test_few_work_items_scan_gradients_of_many_words(name: str, dtype: str, numbers: tuple[int, ...]) -> None:
    variant, spec = _asked(_step(name), dtype=dtype)
    assert (spec.runs, variant.items, spec.depth) == numbers


def test_other_variants_take_values_of_more_words() -> None:
    def step(a: Any, b: Any, c: Any, *m: Any) -> tuple[Any, ...]:
        return tuple(a * m[k] + b * m[k + 1] + c * m[k + 2] for k in (0, 3, 6))

    variant, spec = _asked(Step(expression(step, 12), (1, 0, 0)))
    assert (variant.name, len(spec.values)) == ("round_robin", 12)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", ["prod", "max", "linear", "affine", "complex"])
def test_gradients_are_computed_in_the_dtype_of_registers(name: str, dtype: str) -> None:
    step = _step(name)
    arrays = (np.dtype(dtype),) * len(needed(step))
    folding = adjoint_folding(step, arrays, arrays[: step.elements], 9)
    assert np.dtype("float64") not in folding.computed_in  # 32 times as slow on some GPUs, and absent on others


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("size", [100, 3745, 300_001])
def test_queues(rng: np.random.Generator, name: str, size: int, reverse: bool) -> None:
    able = with_bulk_copies()
    given = [[on_device(able, one.astype("f4")) for one in some] for some in _given(rng, name, (size,), 0, reverse)]
    (queues,) = (one for one in REGISTRY.variants("scan", "cuda") if one.name == "queues")
    any_call = replace(queues, refuse=queueable(queues.geometry))
    got = scan_gradients(_step(name), *given, 0, reverse=reverse, variant=any_call)
    wanted = scan_gradients(_step(name), *given, 0, reverse=reverse, variant="round_robin")
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(on_host(able, one), on_host(able, other), rtol=1e-5, atol=1e-3)
