"""Traces that are kept: as long as nothing changes that a function reads."""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.expressions import expression, trace
from gpuprims.expressions.captured import state_of

SCALE = 2.0
settings = types.ModuleType("settings")
X = np.array([0.5, -1.5, 3.0], np.float32)


def helper(x: Any) -> Any:
    return x * SCALE


def recursive(x: Any, n: int = 3) -> Any:
    return x * recursive(x, n - 1) if n else 1


def make(value: Any) -> Callable[[Any], Any]:
    return lambda x: x * value


def polynomial(weights: Any) -> Callable[[Any], Any]:
    return lambda x: sum(w * x**k for k, w in enumerate(weights))


def around(inner: Any) -> Callable[[Any], Any]:
    return lambda x: inner(x) + 1


KEPT: dict[str, Any] = {
    "operators": lambda x: 2 * x + 1,
    "ufuncs": lambda x: np.sqrt(np.abs(x)) + np.where(x > 0, x, -x) + np.clip(x, -1, 1),
    "builtin functions": lambda x: abs(x) + max(1, 2) + sum(k * x for k in range(3)),
    "the math module": lambda x: x * math.sqrt(2) + math.pi,
    "a global number": lambda x: x * SCALE,
    "another function": lambda x: helper(helper(x)),
    "itself": recursive,
    "captured numbers": make(3),
    "captured lists": polynomial([1, 2.5, np.float32(3)]),
    "captured arrays of few elements": make(np.array(2.5)),
    "captured functions": around(make(2)),
    "dtypes": lambda x: x.astype(np.float64) + x.astype("float64"),
    "expressions": around(expression("y * y")),
    "a function made inside": lambda x: (lambda y: y + x)(3),
    "a default": lambda x, scale=2.0: x * scale,
    "a ufunc": np.sqrt,
}


@pytest.mark.parametrize("function", KEPT.values(), ids=KEPT)
def test_a_function_is_traced_once(function: Callable[..., Any]) -> None:
    assert trace(function, 1) is trace(function, 1)


def test_a_function_made_again_is_not_traced_again() -> None:
    assert trace(make(2.0)) is trace(make(2.0))
    assert trace(make(2.0)) is not trace(make(2))


ALIKE: list[tuple[Any, Any]] = [
    (1, 1.0), (1, True), (0.0, -0.0), (1.0, np.float32(1)), (np.float32(1), np.float64(1)), (np.int8(1), np.uint8(1)),
    (1.0, 1 + 0j), (complex(0.0, -0.0), complex(0.0, 0.0)), (np.float32(0), np.float32(-0.0)),
    (np.array(1), np.array(1.0)), ([1], (1,)), ({0: 1, 1: 2}, {1: 2, 0: 1}),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), ALIKE, ids=str)
def test_captured_values_that_python_finds_equal_are_told_apart(one: Any, other: Any) -> None:
    assert state_of(make(one)) != state_of(make(other))


def test_a_nan_is_kept_by_its_bits() -> None:
    assert trace(make(float("nan"))) is trace(make(float("nan")))


def mapped(function: Callable[..., Any]) -> list[float]:
    """Map a function twice, and return the results, which must be equal."""
    one, other = (gpuprims.map(function, X, device="reference").tolist() for _ in range(2))
    assert one == other
    return list(one)


TWICE, THRICE = [1, -3, 6], [1.5, -4.5, 9]


def test_a_captured_variable_that_changes_is_seen() -> None:
    scale = 2.0

    def function(x: Any) -> Any:
        return x * scale

    assert mapped(function) == TWICE
    scale = 3.0
    assert mapped(function) == THRICE


@pytest.mark.parametrize("function", [lambda x: x * SCALE, lambda x: helper(x)], ids=["read", "read by another"])
def test_a_global_variable_that_changes_is_seen(monkeypatch: pytest.MonkeyPatch, function: Any) -> None:
    assert mapped(function) == TWICE
    monkeypatch.setattr(f"{__name__}.SCALE", 3.0)
    assert mapped(function) == THRICE


def test_a_function_that_is_replaced_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mapped(lambda x: helper(x)) == TWICE
    monkeypatch.setattr(f"{__name__}.helper", lambda x: x * 3)
    assert mapped(lambda x: helper(x)) == THRICE


def test_a_builtin_function_that_is_hidden_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mapped(lambda x: abs(x) * 2) == [1, 3, 6]
    monkeypatch.setattr(f"{__name__}.abs", lambda x: x, raising=False)
    assert mapped(lambda x: abs(x) * 2) == TWICE


def by_another_name(x: Any) -> Any:
    module = settings
    return x * module.scale


@pytest.mark.parametrize("function", [lambda x: x * settings.scale, by_another_name])
def test_an_attribute_of_a_module_that_changes_is_seen(monkeypatch: pytest.MonkeyPatch, function: Any) -> None:
    for scale, result in ((2.0, TWICE), (3.0, THRICE)):
        monkeypatch.setattr(settings, "scale", scale, raising=False)
        assert mapped(function) == result


CONTAINERS = [[2.0], {0: 2.0}, np.array([2.0], np.float32), np.full(5000, np.float32(2)), ([2.0],)]


@pytest.mark.parametrize("given", CONTAINERS, ids=["list", "dict", "array", "large array", "list in a tuple"])
def test_a_captured_container_that_changes_is_seen(given: Any) -> None:
    container = given[0] if isinstance(given, tuple) else given
    function = make_first(given)
    assert mapped(function) == TWICE
    container[0] = container[0] + 1
    assert mapped(function) == THRICE


def make_first(given: Any) -> Callable[[Any], Any]:
    return (lambda x: x * given[0][0]) if isinstance(given, tuple) else (lambda x: x * given[0])


def test_an_attribute_of_an_object_that_changes_is_seen() -> None:
    own = types.SimpleNamespace(scale=2.0)
    assert mapped(lambda x: x * own.scale) == TWICE
    own.scale = 3.0
    assert mapped(lambda x: x * own.scale) == THRICE


def test_defaults_and_code_that_change_are_seen() -> None:
    def function(x: Any, scale: float = 2.0, *, more: float = 0.0) -> Any:
        return x * scale + more

    assert mapped(function) == TWICE
    function.__defaults__ = (3.0,)
    assert mapped(function) == THRICE
    function.__kwdefaults__ = {"more": 1.0}
    assert mapped(function) == [2.5, -3.5, 10]
    function.__code__ = (lambda x, scale=0, *, more=0: x * scale - more).__code__
    assert mapped(function) == [0.5, -5.5, 8]


def test_weights_in_a_function_of_a_neighbourhood_are_seen() -> None:
    weights = [2.0]
    for weight, result in ((2.0, TWICE), (3.0, THRICE)):
        weights[0] = weight
        assert gpuprims.stencil(X, lambda n: n[0] * weights[0], device="reference").tolist() == result


def test_a_container_that_is_large_or_contains_itself_is_not_compared() -> None:
    endless: list[Any] = [2.0]
    endless.append(endless)
    for container in (endless, [2.0] * 1000, dict.fromkeys(range(1000), 2.0)):
        assert state_of(make_first(container)) is None
        assert mapped(make_first(container)) == TWICE


def counting(calls: list[int]) -> dict[str, Callable[[Any], Any]]:
    """Return functions that may read or change something unknown, and note each trace."""
    total = 0
    own = types.SimpleNamespace(n=0)

    def method_of_a_list(x: Any) -> Any:
        calls.append(1)
        return x + 1

    def captured_variable(x: Any) -> Any:
        nonlocal total
        total += 1
        calls[len(calls) :] = [1]
        return x + 1

    def attribute(x: Any) -> Any:
        own.n += 1
        return method_of_a_list(x)

    def imported(x: Any) -> Any:
        import math

        return method_of_a_list(x) + math.pi

    @functools.wraps(method_of_a_list)
    def wrapped(x: Any) -> Any:
        return method_of_a_list(x)

    return {
        "a method of a list": method_of_a_list,
        "a captured variable": captured_variable,
        "an attribute": attribute,
        "an import": imported,
        "a wrapped function": wrapped,
        "a partial function": functools.partial(method_of_a_list),
        "a method": types.MethodType(lambda self, x: method_of_a_list(x), own),
    }


@pytest.mark.parametrize("name", counting([]))
def test_a_function_with_effects_runs_in_each_call(name: str) -> None:
    calls: list[int] = []
    function = counting(calls)[name]
    for _ in range(3):
        gpuprims.map(function, X, device="reference")
    assert len(calls) == 3


@pytest.mark.parametrize(
    "call", ["eval('SCALE')", "globals()['SCALE']", "vars(settings)['scale']", "open", "np.random.rand()"]
)
def test_a_function_that_reads_something_unknown_has_no_state(call: str) -> None:
    assert state_of(eval(f"lambda x: x * {call}")) is None  # noqa: S307 - our own text


def test_traces_are_forgotten_before_they_are_too_many() -> None:
    first = trace(make(0.5))
    for k in range(1100):
        trace(make(k))
    assert trace(make(0.5)) is not first
