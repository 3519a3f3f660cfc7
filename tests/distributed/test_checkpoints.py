"""Calls of streams that an error ended go on from its checkpoint, to the result of an undisturbed call."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.distributed import Checkpoint, LogReg
from gpuprims.errors import ArgumentError, BackendUnavailableError, StreamError

HERE = "reference"


class Disk:
    """An array on a disk, whose rows from some one on cannot be read until it is mended."""

    filename = "/data/x.bin"

    def __init__(self, x: np.ndarray, broken: int) -> None:
        self.x, self.shape, self.dtype, self.broken = x, x.shape, x.dtype, broken
        self.read: list[int] = []

    def __getitem__(self, rows: slice) -> np.ndarray:
        if rows.stop > self.broken:
            raise OSError(5, "Input/output error")
        self.read.append(rows.start)
        return self.x[rows]


def error_of(call) -> StreamError:
    with pytest.raises(StreamError, match=r"Input/output error") as caught:
        call()
    return caught.value


@pytest.mark.parametrize("how", [{"op": "std", "axis": 0}, {"op": "argmin", "axis": 0}, {"op": "max"}, {"map": "2*x"}])
def test_reduce_goes_on_from_a_checkpoint(how, rng) -> None:
    x = rng.standard_normal((1_000, 3))
    disk = Disk(x, 650)
    stream = gpuprims.stream(disk, chunk=100, device=HERE)
    error = error_of(lambda: stream.reduce(**how))
    assert (error.chunk, error.source, error.checkpoint.rows) == (6, "/data/x.bin", 600)
    checkpoint = pickle.loads(pickle.dumps(error.checkpoint))  # noqa: S301
    disk.broken, disk.read = 1_000, []
    found = stream.reduce(**how, resume=checkpoint)
    assert disk.read == [600, 700, 800, 900]
    np.testing.assert_array_equal(found, gpuprims.stream(x, chunk=100, device=HERE).reduce(**how))


def test_a_second_error_leaves_a_later_checkpoint_and_its_own_chunk(rng) -> None:
    x = rng.standard_normal(1_000)
    disk = Disk(x, 300)
    stream = gpuprims.stream(disk, chunk=100, device=HERE)
    first = error_of(lambda: stream.reduce(op="var"))
    disk.broken = 800
    second = error_of(lambda: stream.reduce(op="var", resume=first.checkpoint))
    assert (second.chunk, second.checkpoint.rows) == (8, 800)
    disk.broken = 1_000
    assert stream.reduce(op="var", resume=second.checkpoint) == gpuprims.stream(x, chunk=100, device=HERE).reduce(
        op="var"
    )


def test_scan_goes_on_with_the_chunk_that_failed(rng) -> None:
    x = rng.standard_normal(1_000)
    disk, found = Disk(x, 500), list[np.ndarray]()
    stream = gpuprims.stream(disk, chunk=100, device=HERE)
    error = error_of(lambda: found.extend(stream.scan()))
    assert len(found) == 5
    disk.broken = 1_000
    found.extend(stream.scan(resume=error.checkpoint))
    np.testing.assert_array_equal(
        np.concatenate(found), np.concatenate(list(gpuprims.stream(x, chunk=100, device=HERE).scan()))
    )


def test_histogram_goes_on_in_either_of_its_passes(rng) -> None:
    x = rng.standard_normal(1_000)
    disk = Disk(x, 300)
    stream = gpuprims.stream(disk, chunk=100, device=HERE)
    in_range = error_of(lambda: stream.histogram(20)).checkpoint
    assert in_range.state[0] == "range"
    disk.broken = 1_000
    np.testing.assert_array_equal(stream.histogram(20, resume=in_range)[0], np.histogram(x, 20)[0])
    disk.broken = 700
    counting = error_of(lambda: stream.histogram(20, (-3, 3))).checkpoint
    disk.broken, disk.read = 1_000, []
    counts, edges = stream.histogram(20, (-3, 3), resume=counting)
    assert disk.read[0] == 700
    np.testing.assert_array_equal(counts, np.histogram(x, 20, (-3, 3))[0])
    np.testing.assert_array_equal(edges, np.histogram(x, 20, (-3, 3))[1])


def test_iterables_leave_out_the_rows_of_a_checkpoint(rng) -> None:
    x, whole = rng.standard_normal(100), [False]

    def source():
        yield x[:30]
        yield x[30:70]
        if not whole[0]:
            raise OSError(5, "Input/output error")
        yield x[70:]

    stream = gpuprims.stream(source, chunk=25, device=HERE)
    error = error_of(stream.reduce)
    assert (error.chunk, error.checkpoint.rows) == (4, 70)
    whole[0] = True
    np.testing.assert_allclose(stream.reduce(resume=error.checkpoint), x.sum(), rtol=1e-12)
    elsewhere = gpuprims.stream([x[:60], x[60:]], device=HERE)  # cut in another way
    np.testing.assert_allclose(elsewhere.reduce(resume=error.checkpoint), x.sum(), rtol=1e-12)


def test_checkpoints_of_other_calls_are_refused(rng) -> None:
    x = rng.standard_normal(100)
    disk = Disk(x, 50)
    stream = gpuprims.stream(disk, chunk=25, device=HERE)
    checkpoint = error_of(lambda: stream.reduce(op="max")).checkpoint
    disk.broken = 100
    for call in (
        lambda: stream.reduce(resume=checkpoint),
        lambda: stream.reduce(op="max", map="-x", resume=checkpoint),
        lambda: list(stream.scan(op="max", resume=checkpoint)),
        lambda: stream.histogram(9, resume=checkpoint),
    ):
        with pytest.raises(ArgumentError, match=r"resume= the checkpoint of the same call, .*; got reduce of max"):
            call()
    with pytest.raises(ArgumentError, match="resume= the checkpoint of the same call"):
        stream.reduce(resume=50)
    for source in (x[:50], [x[:50]]):
        with pytest.raises(ArgumentError, match="rows after 50, to resume; got none"):
            gpuprims.stream(source, device=HERE).reduce(op="max", resume=checkpoint)
    assert isinstance(checkpoint, Checkpoint)


def test_a_fit_goes_on_from_the_last_iteration(rng) -> None:
    X = rng.standard_normal((600, 4))
    y = X @ [1, 2, -1, 0.5] + rng.logistic(size=600) > 0
    disk = Disk(X, 600)

    def callback(now) -> None:
        disk.broken = 600 if now.iteration < 4 else 300

    model = LogReg(tol=1e-9, callback=callback, warm_start=True)
    stream = gpuprims.stream(disk, y, chunk=100, device=HERE)
    error_of(lambda: model.fit(stream))
    assert (model.stop_reason_, model.n_iter_) == ("interrupted", 4)
    disk.broken, model.callback, curve = 600, None, model.loss_curve_
    model.fit(stream)
    assert model.loss_curve_[0] < curve[-1]  # not from zero
    wanted = LogisticRegression(tol=1e-10, max_iter=9_999).fit(X, y)
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-6)


def test_paths_are_opened_by_the_library_of_their_files(tmp_path, rng) -> None:
    x = rng.standard_normal((500, 3))
    np.save(tmp_path / "x.npy", x)
    paths = [tmp_path / "x.npy", str(tmp_path / "x.npy")]
    for path in paths:
        np.testing.assert_allclose(gpuprims.stream(path, chunk=64, device=HERE).reduce(op="std"), x.std(), rtol=1e-11)
    with pytest.raises(ArgumentError, match="a file that exists; got '"):
        gpuprims.stream(tmp_path / "none.npy")
    with pytest.raises(ArgumentError, match=r"a path that ends in one of \.npy, .*; got 'x\.csv'"):
        gpuprims.stream("x.csv")


def test_hdf5_files_name_a_dataset(tmp_path, rng) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    x, path = rng.standard_normal((500, 3)), str(tmp_path / "x.h5")
    with h5py.File(path, "w") as file:
        file.create_dataset("one/X", data=x)
    assert gpuprims.stream(path, device=HERE).reduce(op="max") == x.max()
    with h5py.File(path, "a") as file:
        file.create_dataset("y", data=x[:, 0] > 0)
    assert gpuprims.stream(f"{path}:one/X", device=HERE).reduce(op="max") == x.max()
    for wrong in (path, f"{path}:z"):
        with pytest.raises(ArgumentError, match=r"as in 'data.h5:X'; got .* which has one/X, y"):
            gpuprims.stream(wrong)
    assert LogReg().fit(gpuprims.stream(f"{path}:one/X", f"{path}:y", chunk=100, device=HERE)).n_iter_ > 1


def test_parquet_and_zarr_by_path(tmp_path, rng) -> None:
    x = rng.standard_normal((500, 3))
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    zarr.create_array(str(tmp_path / "x.zarr"), data=x, chunks=(100, 3))
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import dataset, parquet

    for name in ("x", "a", "b"):
        (tmp_path / "many").mkdir(exist_ok=True)
        path = tmp_path / "x.parquet" if name == "x" else tmp_path / "many" / f"{name}.parquet"
        parquet.write_table(pa.table({f"c{k}": x[:, k] for k in range(3)}), path)
    for source in (tmp_path / "x.zarr", tmp_path / "x.parquet", dataset.dataset(tmp_path / "many")):
        found = gpuprims.stream(source, chunk=64, device=HERE).reduce(op="std", axis=0)
        np.testing.assert_allclose(found, x.std(axis=0), rtol=1e-11)
    assert repr(gpuprims.stream(tmp_path / "x.parquet")).startswith(f"<gpuprims.stream of {tmp_path}/x.parquet on")


def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    (tmp_path / "x.h5").touch()
    with pytest.raises(BackendUnavailableError, match="pip install h5py"):
        gpuprims.stream(tmp_path / "x.h5")


def test_a_bar_shows_the_rows_of_each_pass(capsys, rng) -> None:
    x = rng.standard_normal(1_000)
    stream = gpuprims.stream(x, chunk=100, device=HERE, verbose=True)
    stream.histogram(9)
    shown = capsys.readouterr().err
    assert "range of ndarray" in shown
    assert re.search(r"histogram of ndarray.*100%.*1\.00k/1\.00k", shown)
    gpuprims.stream(lambda: [x], device=HERE, verbose=True).reduce()
    assert "1.00k rows" in capsys.readouterr().err
    gpuprims.stream(x, device=HERE).reduce()
    assert capsys.readouterr().err == ""
