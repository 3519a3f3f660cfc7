"""The public call that a thread is in, read from frames of functions that count as the package's."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gpuprims.core.current_call import Call, in_current_call

PACKAGE = """
from gpuprims.core.current_call import current_call, in_current_call

def inner():
    return current_call()

def fold(*arrays, axis=None, out=None):
    return inner(), [inner() for _ in range(2)][-1]

def run(primitive, arrays):
    return current_call()

class Plan:
    primitive = "scan"

    def __call__(self, *arrays):
        return inner()

    def item(self, x):
        return inner()

class Device:
    def check(self):
        return inner()

class Scores:
    def score(self, X):
        return inner()

class Model(Scores):
    pass

def first(x, device):
    return device.check(), current_call()

def twice(function, x):
    return current_call(), function(), current_call()
"""


@pytest.fixture(scope="module")
def package() -> Any:
    """Functions of a module whose name is one of this package's."""
    names: dict[str, Any] = {"__name__": "gpuprims.example"}
    exec(PACKAGE, names)  # noqa: S102 - it stands above
    return names


X = np.zeros((2, 3), np.int8)


def test_functions_within_a_call_see_the_call(package: Any) -> None:
    first, again = package["fold"](X)
    assert first is again
    assert first.label == "fold(int8[2, 3])"


def test_each_call_has_a_number_of_its_own(package: Any) -> None:
    calls = [package["fold"](X)[0] for _ in range(5)]
    assert len({call.number for call in calls}) == 5


def test_a_label_has_a_few_arrays_in_the_callers_order(package: Any) -> None:
    y = np.zeros(4)
    assert package["fold"](X, y, 3)[0].label == "fold(int8[2, 3], float64[4])"
    assert package["fold"](X, y, y, X)[0].label == "fold(int8[2, 3], 2 x float64[4], int8[2, 3])"
    assert package["fold"](X, y, y, X, y)[0].label == "fold(int8[2, 3], 2 x float64[4], int8[2, 3], ...)"
    assert package["fold"](X, out=y)[0].label == "fold(int8[2, 3])"
    assert package["fold"](pd.DataFrame(X))[0].label == "fold(DataFrame[2, 3])"
    assert package["fold"]([1, 2], axis=np.float32)[0].label == "fold()"  # a class has descriptors of dtype and shape


def test_a_method_of_a_mix_in_is_one_of_the_objects_class(package: Any) -> None:
    assert package["Model"]().score(X).label == "Model.score(int8[2, 3])"


def test_plans_and_primitives_by_name_say_which(package: Any) -> None:
    assert package["run"]("map", (X,)).label == "map(int8[2, 3])"
    plan = package["Plan"]()
    assert plan(X).label == "Plan of scan(int8[2, 3])"
    assert plan.item(X).label == "Plan.item of scan(int8[2, 3])"


def test_the_trial_of_a_device_is_no_part_of_the_call_that_needs_it(package: Any) -> None:
    trial, call = package["first"](X, package["Device"]())
    assert (trial.label, call.label) == ("Device.check()", "first(int8[2, 3])")


def test_what_a_call_calls_through_other_packages_is_part_of_it(package: Any) -> None:
    outer, inner, outer_again = package["twice"](lambda: package["fold"](X)[0], X)
    assert outer is inner is outer_again
    assert outer.label == "twice(int8[2, 3])"


@pytest.mark.parametrize("module", ["gpuprims.__main__", "gpuprims.cli.profile"])
def test_the_command_line_makes_no_call(package: Any, module: str) -> None:
    command: dict[str, Any] = {"__name__": module}
    exec("def run(script): return script()", command)  # noqa: S102 - it stands here
    assert command["run"](lambda: package["fold"](X)[0]).label == "fold(int8[2, 3])"


def test_another_thread_can_work_for_a_call(package: Any) -> None:
    found: list[Call] = []
    work = in_current_call(lambda: found.append(package["fold"](X)[0]))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    work()
    assert found[0] is found[1]
    assert package["fold"](X)[0] is not found[0]
