"""Groups of several processes: the results of one group, in every process, and errors that all of them raise."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import process_calls
import pytest
from children import child_environment

import gpuprims
from conftest import SPECS
from gpuprims.distributed import LogReg, Processes, runs
from gpuprims.errors import ArgumentError, EmptyReductionError, ShapeError, ShardError

HERE = "reference"
# Rows of each process; one has none, and one is a single device.
CUTS, DEVICES = (0, 37, 37, 100), (2, 2, 1)


class Store:
    """A store of torch.distributed for the threads of this process."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self._changed = threading.Condition()

    def set(self, key: str, value: bytes) -> None:
        with self._changed:
            self.kept[key] = value
            self._changed.notify_all()

    def get(self, key: str) -> bytes:
        with self._changed:
            assert self._changed.wait_for(lambda: key in self.kept, 30), "a process does not come"
            return self.kept[key]

    def delete_key(self, key: str) -> None:
        with self._changed:
            del self.kept[key]


def in_each(call: Callable[[gpuprims.DeviceGroup, int], Any]) -> tuple[list[Any], Store]:
    """Return what a call returns, or raises, in threads that take the place of processes."""
    store = Store()

    def run(rank: int) -> Any:
        processes = Processes.from_store(store, rank, len(DEVICES))
        try:
            return call(gpuprims.DeviceGroup([HERE] * DEVICES[rank], processes=processes), rank)
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(DEVICES)) as pool:
        return list(pool.map(run, range(len(DEVICES)))), store


def part(x: np.ndarray, rank: int) -> np.ndarray:
    return x[CUTS[rank] : CUTS[rank + 1]]


def test_folds_are_those_of_all_rows(rng) -> None:
    x = rng.standard_normal((100, 4))

    def call(group: gpuprims.DeviceGroup, rank: int) -> list[Any]:
        own = group.scatter(part(x, rank))
        hows: list[dict[str, Any]] = [
            {"op": "mean", "axis": 0}, {"op": "argmax"}, {"op": "max", "axis": 0}, {"op": "std"},
            {"op": "argmin", "axis": 0},
        ]  # fmt: skip
        return [group.reduce(own, **how) for how in hows] + [group.reduce(own, determinism="order", axis=0)]

    found, store = in_each(call)
    exact = gpuprims.reduce(x, axis=0, determinism="order", device=HERE)
    for one in found:
        wanted = [x.mean(axis=0), x.argmax(), x.max(axis=0), x.std(), x.argmin(axis=0), exact]
        for got, right in zip(one, wanted, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-12)
        np.testing.assert_array_equal(one[-1], exact)
    assert len(store.kept) <= 2 * len(DEVICES), "keys of earlier calls are left"


@pytest.mark.parametrize("how", [{}, {"op": "max", "axis": 0}, {"inclusive": False, "axis": 0}, {"op": "argmax"}])
def test_scans_go_on_from_process_to_process(how, rng) -> None:
    x = rng.standard_normal((100, 2) if "axis" in how else 100)
    found, _ = in_each(lambda group, rank: group.scan(group.scatter(part(x, rank)), **how).gather())
    np.testing.assert_allclose(np.concatenate(found), gpuprims.scan(x, device=HERE, **how), atol=1e-12)


def test_counts_are_those_of_all_rows(rng) -> None:
    x, numbers = rng.standard_normal(100), rng.integers(0, 50, 100)

    def call(group: gpuprims.DeviceGroup, rank: int) -> Any:
        given, counted = group.scatter(part(x, rank)), group.scatter(part(numbers, rank))
        return *group.histogram(given, 7), group.bincount(counted), group.compact(given, "v > 0").gather()

    found, _ = in_each(call)
    for counts, edges, many, _ in found:
        wanted, right = np.histogram(x, 7)
        np.testing.assert_array_equal(counts, wanted)
        np.testing.assert_allclose(edges, right)
        np.testing.assert_array_equal(many, np.bincount(numbers))
    np.testing.assert_array_equal(np.concatenate([one[-1] for one in found]), x[x > 0])


@pytest.mark.parametrize("op", ["sum", "max"])
def test_arrays_are_folded_on_all_devices_of_all_processes(op, rng) -> None:
    parts = rng.standard_normal((5, 9))
    firsts = (0, 2, 4)

    def call(group: gpuprims.DeviceGroup, rank: int) -> Any:
        own = group.from_shards(list(parts[firsts[rank] : firsts[rank] + DEVICES[rank]]))
        return group.all_reduce(own, op).shards

    found, _ = in_each(call)
    wanted = parts.sum(axis=0) if op == "sum" else parts.max(axis=0)
    for shards in found:
        for shard in shards:
            np.testing.assert_allclose(shard, wanted, rtol=1e-12)
            np.testing.assert_array_equal(shard, found[0][0])


CUTS_OF_STENCILS = [(0, 37, 37, 100), (0, 1, 3, 100), (0, 2, 4, 8), (0, 9, 9, 9)]


@pytest.mark.parametrize("cuts", CUTS_OF_STENCILS)
@pytest.mark.parametrize("mode", ["nearest", "reflect", "mirror", "wrap", "constant"])
def test_stencils_reach_into_other_processes(cuts, mode, rng) -> None:
    x = rng.integers(0, 9, (cuts[-1], 6)).astype(np.float64)
    weights = np.arange(21.0).reshape(7, 3)
    how: dict[str, Any] = {"mode": mode, "cval": 7}

    def call(group: gpuprims.DeviceGroup, rank: int) -> Any:
        own = group.scatter(x[cuts[rank] : cuts[rank + 1]])
        blurred = group.blur(own, "gaussian", sigma=1.0, **how)
        assert blurred.offsets == own.offsets
        return group.stencil(own, weights, **how).gather(), blurred.gather()

    found, _ = in_each(call)
    weighted, blurred = (np.concatenate(parts) for parts in zip(*found, strict=True))
    np.testing.assert_array_equal(weighted, gpuprims.stencil(x, weights, device=HERE, **how))
    wanted = gpuprims.blur(x, "gaussian", sigma=1.0, device=HERE, **how)
    np.testing.assert_allclose(blurred, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("swaps", [True, False])
@pytest.mark.parametrize("descending", [False, True])
def test_sorts_move_elements_between_processes(descending, swaps, rng, monkeypatch) -> None:
    monkeypatch.setattr(runs, "_SAMPLES", 4)
    several = {
        "normal": rng.standard_normal(100),
        "few": rng.integers(0, 3, 100),
        "nan": np.where(rng.random(100) > 0.8, np.nan, rng.standard_normal(100)).astype(np.float32),
        "bools": rng.random(100) > 0.5,
        "rows": rng.standard_normal((100, 3)),
    }

    def call(group: gpuprims.DeviceGroup, rank: int) -> Any:
        if not swaps:  # as of a caller's own communicator
            processes = group.processes
            group.processes = Processes(processes.rank, processes.size, processes._gather)
        given = {name: group.scatter(part(x, rank)) for name, x in several.items()}
        found = {name: group.sort(x, None, descending=descending) for name, x in given.items()}
        assert found["normal"].offsets == given["normal"].offsets
        return {name: one.gather() for name, one in found.items()}

    found, _ = in_each(call)
    for name, x in several.items():
        whole = np.concatenate([one[name] for one in found])
        np.testing.assert_array_equal(whole, gpuprims.sort(x, None, descending=descending, device=HERE))
        assert whole.dtype == x.dtype


def test_the_best_of_all_rows(rng) -> None:
    x, rows = rng.integers(0, 20, 100).astype(np.float32), rng.standard_normal((100, 3))

    def call(group: gpuprims.DeviceGroup, rank: int) -> Any:
        own, two = group.scatter(part(x, rank)), group.scatter(part(rows, rank))
        calls = (group.top_k(own, 30), group.top_k(own, 100, largest=False), group.top_k(two, 5, axis=0))
        return *calls, group.top_k(two, 7), group.top_k(own, 0)

    found, _ = in_each(call)
    how: dict[str, Any] = {"device": HERE}
    wanted = (
        gpuprims.top_k(x, 30, **how), gpuprims.top_k(x, 100, largest=False, **how),
        gpuprims.top_k(rows, 5, axis=0, **how), gpuprims.top_k(rows, 7, **how), gpuprims.top_k(x, 0, **how),
    )  # fmt: skip
    for one in found:
        for (values, places), (right, where) in zip(one, wanted, strict=True):
            np.testing.assert_array_equal(values, right)
            np.testing.assert_array_equal(places, where)


def test_fits_agree_with_one_group(rng) -> None:
    X, cuts = rng.standard_normal((120, 3)), (0, 50, 90, 120)
    y = np.where(X[:, 0] + rng.standard_normal(120) > 0, "yes", "no")

    def call(group: gpuprims.DeviceGroup, rank: int) -> Any:
        rows = slice(cuts[rank], cuts[rank + 1])
        own = group.scatter(X[rows])
        model = LogReg(tol=1e-9).fit(own, y[rows])
        return model.coef_, model.score(own, y[rows])

    found, _ = in_each(call)
    one = gpuprims.DeviceGroup([HERE])
    model = LogReg(tol=1e-9).fit(one.scatter(X), y)
    for coef, score in found:
        np.testing.assert_array_equal(coef, found[0][0])
        np.testing.assert_allclose(coef, model.coef_, atol=1e-6)
        assert score == pytest.approx(model.score(one.scatter(X), y))


def test_all_raise_if_one_fails() -> None:
    def call(group: gpuprims.DeviceGroup, rank: int) -> Any:
        def fails(k: int) -> None:
            if rank == 1:
                raise MemoryError("no room")

        try:
            group.share("a call", lambda: group.each("a call", fails))
        except ShardError as error:
            assert group.reduce(group.scatter(np.ones(3))) == 9  # usable afterwards
            return str(error)

    found, _ = in_each(call)
    assert "MemoryError: no room" in found[1]
    assert all("process 1: ShardError: a call" in found[rank] for rank in (0, 2))


def test_wrong_calls_are_refused() -> None:
    def call(group: gpuprims.DeviceGroup, rank: int) -> Any:
        x = group.scatter(np.ones((4, 2)))
        with pytest.raises(ArgumentError, match="k= a number from 0 to 24; got 25"):
            group.top_k(x, 25)
        other = group.scatter(np.ones((4, 2 + rank)))
        for wrong in (lambda: group.blur(other), lambda: group.sort(other, None), lambda: group.top_k(other, 1)):
            with pytest.raises(ShapeError, match="rows of one shape and dtype in all processes"):
                wrong()
        with pytest.raises(ArgumentError, match="pickle: a group of one process; got one of 3"):
            pickle.dumps(group)
        with pytest.raises(EmptyReductionError):
            group.reduce(group.scatter(np.ones(0)), op="max")
        uneven = group.from_shards([np.ones(2 + rank)] * DEVICES[rank])
        with pytest.raises(ShapeError, match="shards of one shape"):
            group.all_reduce(uneven)
        return "refused"

    assert in_each(call)[0] == ["refused"] * 3
    with pytest.raises(ArgumentError, match="a rank from 0 to size - 1; got 2 of 2"):
        Processes(2, 2, list)
    with pytest.raises(ArgumentError, match="processes= a Processes"):
        gpuprims.DeviceGroup([HERE], processes=3)  # type: ignore[arg-type]


def test_a_communicator_of_mpi_is_asked_by_its_own_methods() -> None:
    class Communicator:
        def Get_rank(self) -> int:  # noqa: N802 - MPI's names
            return 0

        def Get_size(self) -> int:  # noqa: N802
            return 1

        def allgather(self, own: Any) -> list[Any]:
            return [own]

        def alltoall(self, own: list[Any]) -> list[Any]:
            return own

    group = gpuprims.DeviceGroup([HERE], processes=Processes.from_mpi(Communicator()))
    assert group.reduce(group.scatter(np.arange(5))) == 10
    assert group.sort(group.scatter(np.arange(5)[::-1])).gather().tolist() == [0, 1, 2, 3, 4]


def test_two_processes_of_the_system_agree(tmp_path: Path) -> None:
    command = [sys.executable, process_calls.__file__, str(tmp_path)]
    begun = [
        subprocess.Popen([*command, str(rank), "2", SPECS[0]], stdout=-1, stderr=-2, text=True, env=child_environment())
        for rank in range(2)
    ]
    for rank, one in enumerate(begun):
        said, _ = one.communicate(timeout=120)
        assert one.returncode == 0, said
        assert said == f"process {rank} agrees\n"
