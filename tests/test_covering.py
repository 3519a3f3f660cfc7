"""The tests of a default run cover every value of every parameter."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import covering
import pytest

KERNELS = [("opencl:intel", "tree"), ("opencl:intel", "warp"), ("reference", "numpy"), ("opencl:portable", "tree")]
DTYPES = ["int8", "int16", "int32", "float32", "float64"]
NONE: frozenset[str] = frozenset()


class Item(SimpleNamespace):
    """What a part is chosen by."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # by identity

    def get_closest_marker(self, name: str) -> Any:
        return self.whole if name == "whole" else None

    def iter_markers(self, name: str) -> Iterator[Any]:
        return iter(self.parametrized)


def product(function: str, *, whole: Any = None, **values: list[Any]) -> list[Any]:
    """Return an item for each combination of a function's values."""
    marks = [SimpleNamespace(args=(name, several)) for name, several in values.items() if name != "kernel"]
    return [
        Item(
            nodeid=f"a.py::{function}[{number}]",
            path="a.py",
            callspec=SimpleNamespace(params=dict(zip(values, row, strict=True))),
            parametrized=marks,
            whole=whole,
        )
        for number, row in enumerate(itertools.product(*values.values()))
    ]


def runs_on(item: Any) -> frozenset[tuple[str, str]]:
    kernel = item.callspec.params.get("kernel")
    return frozenset({kernel} if kernel else ())


def values(items: Any, name: str) -> set[Any]:
    return {item.callspec.params[name] for item in items}


def test_each_value_is_there_once_at_least_where_no_device_computes() -> None:
    items = product("test_a", dtype=DTYPES, op=["sum", "max"])
    kept = covering.covering(items, runs_on, NONE, NONE)
    assert [values(kept, name) for name in ("dtype", "op")] == [set(DTYPES), {"sum", "max"}]
    assert len(kept) <= 8


def test_each_kernel_is_there_once_at_least_and_other_values_elsewhere() -> None:
    several = [f"test_{number}" for number in range(20)]
    items = [item for name in several for item in product(name, dtype=DTYPES, op=["sum", "max"], kernel=KERNELS)]
    kept = covering.covering(items, runs_on, NONE, NONE)
    for name in several:
        here = [item for item in kept if f"::{name}[" in item.nodeid]
        assert values(here, "kernel") == set(KERNELS)
        assert len(here) == len(KERNELS)
    assert values(kept, "dtype") == set(DTYPES)
    assert values(kept, "op") == {"sum", "max"}


def test_a_device_alone_meets_more_values() -> None:
    items = product("test_a", dtype=DTYPES, kernel=[("opencl:intel", "")])
    assert len(covering.covering(items, runs_on, NONE, NONE)) == 2


def test_functions_begin_at_different_combinations() -> None:
    chosen = []
    for name in ("test_a", "test_b", "test_c", "test_d"):
        items = product(name, dtype=DTYPES, kernel=KERNELS)
        kept = covering.covering(items, runs_on, NONE, NONE)
        chosen.append({(item.callspec.params["dtype"], item.callspec.params["kernel"]) for item in kept})
    assert len({frozenset(one) for one in chosen}) > 1


def test_a_device_tested_once_has_each_kernel_and_others_have_the_values() -> None:
    items = product("test_a", dtype=DTYPES, kernel=KERNELS)
    kept = covering.covering(items, runs_on, frozenset({"reference"}), NONE)
    assert len([item for item in kept if item.callspec.params["kernel"] == KERNELS[2]]) == 1
    others = [item for item in kept if item.callspec.params["kernel"] != KERNELS[2]]
    assert values(others, "kernel") == {*KERNELS} - {KERNELS[2]}


def test_guests_take_turns() -> None:
    guests = [("opencl:intel", f"for_gpus_{number}") for number in range(6)]
    own = ("opencl:intel", "cpu_chunks")
    several = [f"test_{letter}" for letter in "abcdefgh"]
    items = [item for name in several for item in product(name, dtype=DTYPES, kernel=[own, *guests])]
    kept = covering.covering(items, runs_on, NONE, NONE, frozenset(guests))
    assert values(kept, "kernel") == {own, *guests}
    for name in several:
        met = values((item for item in kept if f"::{name}[" in item.nodeid), "kernel")
        assert own in met
        assert len(met - {own}) <= 1


def test_each_guest_is_met_in_each_file() -> None:
    guests = [("opencl:intel", f"for_gpus_{number}") for number in range(9)]
    items = [item for name in ("test_a", "test_b") for item in product(name, dtype=DTYPES, kernel=[*KERNELS, *guests])]
    assert values(covering.covering(items, runs_on, NONE, NONE, frozenset(guests)), "kernel") == {*KERNELS, *guests}


def test_a_guest_that_is_alone_never_rests() -> None:
    items = [
        item for name in ("test_a", "test_b", "test_c") for item in product(name, dtype=DTYPES, kernel=KERNELS[:1])
    ]
    assert len(covering.covering(items, runs_on, NONE, NONE, frozenset(KERNELS))) == 3


def test_a_sampled_device_has_each_kernel_once() -> None:
    several = [f"test_{number}" for number in range(40)]
    items = [item for name in several for item in product(name, dtype=DTYPES, kernel=KERNELS)]
    kept = covering.covering(items, runs_on, NONE, frozenset({"opencl:portable"}))
    sampled = [item for item in kept if item.callspec.params["kernel"] == KERNELS[3]]
    assert 1 <= len(sampled) < 15
    others = {item.nodeid.partition("[")[0] for item in kept if item.callspec.params["kernel"] == KERNELS[0]}
    assert len(others) == 40


def test_a_row_of_several_names_is_one_value() -> None:
    rows = [("int8", 1), ("int8", 2), ("int16", 1), ("int16", 2)]
    items = product("test_a", dtype=[0], op=[0])[:1] * 4
    items = [Item(**(vars(item) | {"nodeid": f"a.py::test_a[{row}]"})) for item, row in zip(items, rows, strict=True)]
    for item, (dtype, op) in zip(items, rows, strict=True):
        item.callspec = SimpleNamespace(params={"dtype": dtype, "op": op})
        item.parametrized = [SimpleNamespace(args=("dtype, op", rows))]
    assert len(covering.covering(items, runs_on, NONE, NONE)) == 4


def test_a_function_marked_whole_is_whole() -> None:
    items = product("test_a", whole=pytest.mark.whole, dtype=DTYPES, kernel=KERNELS)
    assert len(covering.covering(items, runs_on, NONE, NONE)) == len(items)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_part_is_the_same_in_every_process(seed: str) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_covering as t, covering; "
        "items = t.product('test_a', dtype=t.DTYPES, op=['sum', 'max'], kernel=t.KERNELS); "
        "print(sorted(item.nodeid for item in covering.covering(items, t.runs_on, t.NONE, t.NONE)))"
    )
    command = [sys.executable, "-c", program, str(Path(__file__).parent)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
    )
    items = product("test_a", dtype=DTYPES, op=["sum", "max"], kernel=KERNELS)
    kept = covering.covering(items, runs_on, NONE, NONE)
    assert done.stdout.strip() == str(sorted(item.nodeid for item in kept))
