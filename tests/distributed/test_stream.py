"""Arrays that are read chunk by chunk: NumPy's results, whatever the source, and errors that name chunk and file."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import gpuprims
from conftest import SPECS
from gpuprims.distributed import LogReg
from gpuprims.errors import ArgumentError, EmptyReductionError, ShapeError, StreamError

HERE = "reference"


def mapped(path, x):
    np.save(path, x)
    return np.load(path, mmap_mode="r")


def sources(tmp_path, x: np.ndarray):
    """Return each kind of source of an array."""
    parts = np.array_split(x, 7)
    return [mapped(tmp_path / "x.npy", x), x, parts, lambda: iter(parts), lambda: ((part,) for part in parts)]


@pytest.mark.parametrize("kind", range(5))
@pytest.mark.parametrize("name", ["sum", "std", "max", "argmin", "nanmean"])
def test_reduce_is_numpys(kind, name, tmp_path, rng) -> None:
    x = rng.standard_normal((1_003, 4))
    if name == "nanmean":
        x[::3] = np.nan
    stream = gpuprims.stream(sources(tmp_path, x)[kind], chunk=100, device=HERE)
    for axis in (None, 0):
        np.testing.assert_allclose(stream.reduce(op=name, axis=axis), getattr(np, name)(x, axis=axis), rtol=1e-11)


def test_streams_on_a_device(tmp_path, rng) -> None:
    x = rng.standard_normal(20_001).astype(np.float32)
    stream = gpuprims.stream(mapped(tmp_path / "x.npy", x), chunk=4_096, device=SPECS[0])
    np.testing.assert_allclose(stream.reduce(op="mean"), x.mean(dtype=np.float64), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(np.concatenate(list(stream.scan(op="max"))), np.maximum.accumulate(x))
    np.testing.assert_array_equal(stream.histogram(50)[0], np.histogram(x, 50)[0])
    again = [stream.reduce() for _ in range(3)]
    assert again == [again[0]] * 3


def test_rows_in_memory_are_not_copied_and_those_of_files_are(tmp_path) -> None:
    x = np.arange(1_000.0)
    file = mapped(tmp_path / "x.npy", x)
    for source, copied in ((x, False), (x[::2], False), (file, True), (np.asarray(file)[::2], True)):
        for chunk in gpuprims.stream(source, chunk=300, device=HERE).chunks("test"):
            assert np.shares_memory(chunk.arrays[0], source) != copied


def test_arguments_and_several_sources(rng) -> None:
    x, y = rng.standard_normal((2, 1_000))
    both = gpuprims.stream(x, y, chunk=77, device=HERE)
    np.testing.assert_allclose(both.reduce(map="x*y"), np.dot(x, y), rtol=1e-11)
    pairs = gpuprims.stream(lambda: zip(np.split(x, 10), np.split(y, 10), strict=True), device=HERE)
    np.testing.assert_allclose(pairs.reduce(map="x*y"), np.dot(x, y), rtol=1e-11)
    np.testing.assert_allclose(both.histogram(9, (-2, 2))[0], np.histogram(x, 9, (-2, 2), weights=y)[0], atol=1e-11)
    one = gpuprims.stream(x, chunk=77, device=HERE)
    np.testing.assert_allclose(one.reduce(op="var", ddof=1), x.var(ddof=1), rtol=1e-11)
    assert one.reduce(op="max", initial=10.0) == 10
    low, high = one.reduce(op="minmax")
    assert (low, high) == (x.min(), x.max())
    density, edges = one.histogram(9, density=True)
    np.testing.assert_allclose(density, np.histogram(x, edges, density=True)[0], rtol=1e-11)
    single = gpuprims.stream(np.float32([1e8, 1, 1, -1e8]), chunk=1, device=HERE)
    assert single.reduce(compensated=True) == 2


@pytest.mark.parametrize("name", ["sum", "mean", "argmax"])
@pytest.mark.parametrize("shape", [(1_003,), (203, 4)])
def test_scan_goes_on_from_chunk_to_chunk(name, shape, rng) -> None:
    x = rng.standard_normal(shape)
    found = list(gpuprims.stream(x, chunk=50, device=HERE).scan(op=name))
    assert [len(part) for part in found] == [len(x[k : k + 50]) for k in range(0, len(x), 50)]
    np.testing.assert_allclose(np.concatenate(found), gpuprims.scan(x, op=name, axis=0, device=HERE), atol=1e-11)


def test_scan_begins_with_initial_and_reads_as_it_goes(rng) -> None:
    x, read = rng.integers(0, 9, 1_000), []

    def parts():
        for k in range(0, 1_000, 100):
            read.append(k)
            yield x[k : k + 100]

    found = gpuprims.stream(parts, device=HERE).scan(initial=7)
    np.testing.assert_array_equal(next(found), 7 + x[:100].cumsum())
    time.sleep(0.1)
    assert len(read) <= 5  # not all of the source
    found.close()
    np.testing.assert_array_equal(np.concatenate(list(gpuprims.stream(parts, device=HERE).scan())), x.cumsum())


def test_libraries_of_arrays_on_the_disk(tmp_path, rng) -> None:
    x = rng.standard_normal((500, 3))
    found = []
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        found.append(gpuprims.stream(file.create_dataset("x", data=x), chunk=64, device=HERE).reduce(op="std", axis=0))
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    stored = zarr.create_array(str(tmp_path / "x.zarr"), data=x, chunks=(100, 3))
    found.append(gpuprims.stream(stored, chunk=64, device=HERE).reduce(op="std", axis=0))
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    parquet.write_table(pa.table({f"c{k}": x[:, k] for k in range(3)}), tmp_path / "x.parquet")
    file = parquet.ParquetFile(tmp_path / "x.parquet")
    found.append(gpuprims.stream(file, chunk=64, device=HERE).reduce(op="std", axis=0))
    for one in found:
        np.testing.assert_allclose(one, x.std(axis=0), rtol=1e-11)


@pytest.mark.parametrize("classes", [2, 3])
def test_logreg_has_the_optimum_of_all_samples(classes, tmp_path, rng) -> None:
    X = rng.standard_normal((601, 5))
    y = (X @ rng.standard_normal((5, classes)) + rng.gumbel(size=(601, classes))).argmax(axis=1)
    order = np.argsort(y, kind="stable")  # so chunks lack classes
    X, y, weights = X[order], y[order], rng.integers(0, 3, 601).astype(float)
    model = LogReg(tol=1e-9).fit(gpuprims.stream(mapped(tmp_path / "X.npy", X), y, chunk=100, device=HERE))
    wanted = LogisticRegression(tol=1e-10, max_iter=9_999).fit(X, y)
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), wanted.predict(X))
    weighted = LogReg(tol=1e-9, solver="newton-cholesky").fit(gpuprims.stream(X, y, weights, chunk=99, device=HERE))
    wanted = LogisticRegression(tol=1e-10, max_iter=9_999).fit(X, y, weights)
    np.testing.assert_allclose(weighted.coef_, wanted.coef_, atol=1e-6)


def test_logreg_refuses_wrong_streams(rng) -> None:
    X, y = rng.standard_normal((50, 2)), np.arange(50) % 2
    with pytest.raises(ArgumentError, match=r"stream\(X, y\); got 1 array"):
        LogReg().fit(gpuprims.stream(X, device=HERE))
    with pytest.raises(ArgumentError, match="got them beside it"):
        LogReg().fit(gpuprims.stream(X, device=HERE), y)
    with pytest.raises(ArgumentError, match="at least two classes"):
        LogReg().fit(gpuprims.stream(X, 0 * y, device=HERE))
    with pytest.raises(ArgumentError, match="read again"):
        LogReg().fit(gpuprims.stream(iter([(X, y)]), device=HERE))
    X[30, 1] = np.inf
    with pytest.raises(ArgumentError, match="finite features"):
        LogReg().fit(gpuprims.stream(X, y, chunk=10, device=HERE))


def test_an_error_names_chunk_and_file(tmp_path) -> None:
    class Broken:
        shape, dtype, filename = (100,), np.dtype(np.float64), "/data/broken.bin"

        def __getitem__(self, rows: slice) -> np.ndarray:
            if rows.start >= 60:
                raise OSError(5, "Input/output error")
            return np.ones(100)[rows]

    with pytest.raises(
        StreamError, match=r"chunk 3 \(from row 60 on\) of /data/broken.bin read; got OSError.*output error"
    ) as e:
        gpuprims.stream(Broken(), chunk=20, device=HERE).reduce()
    assert (e.value.chunk, e.value.source, type(e.value.__cause__)) == (3, "/data/broken.bin", OSError)

    def parts():
        yield np.ones(3)
        raise ValueError("no more")

    with pytest.raises(StreamError, match=r"chunk 1.*no more"):
        gpuprims.stream(parts, device=HERE).reduce()
    assert str(tmp_path / "x.npy") in repr(gpuprims.stream(mapped(tmp_path / "x.npy", np.ones(3)), device=HERE))
    assert not [thread for thread in threading.enumerate() if thread.name == "gpuprims-read"]


def test_reading_overlaps_with_computing() -> None:
    """Eight chunks that take 30 ms to read and 30 ms to compute take little more than 240 ms, not 480."""

    def parts():
        for _ in range(8):
            time.sleep(0.03)
            yield np.ones(10)

    start = time.perf_counter()
    for _ in gpuprims.stream(parts, device=HERE).scan():
        time.sleep(0.03)
    assert time.perf_counter() - start < 0.45


def test_a_large_array_is_read_once_by_rows_of_the_chunks(tmp_path) -> None:
    x = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float32, (1 << 24,))
    x[:] = 1
    sizes = []

    class Watched:
        shape, dtype = x.shape, x.dtype

        def __getitem__(self, rows: slice) -> np.ndarray:
            sizes.append(rows.stop - rows.start)
            return np.array(x[rows])

    assert gpuprims.stream(Watched(), chunk=1 << 18, device=HERE).reduce() == 1 << 24
    assert sizes == [1 << 18] * 64


def test_wrong_sources_are_refused() -> None:
    x = np.arange(6.0)
    with pytest.raises(ArgumentError, match="at least one source"):
        gpuprims.stream()
    with pytest.raises(ArgumentError, match="chunk= a number of rows from 1 on"):
        gpuprims.stream(x, chunk=0)
    with pytest.raises(ShapeError, match=r"sources of one length; got lengths \[3, 6\]"):
        gpuprims.stream(x, x[:3])
    with pytest.raises(ArgumentError, match="one iterable of tuples"):
        gpuprims.stream([x], [x])
    with pytest.raises(ArgumentError, match="an array with slices"):
        gpuprims.stream(7)
    with pytest.raises(ArgumentError, match="axis= with the first axis"):
        gpuprims.stream(np.ones((4, 4)), device=HERE).reduce(axis=1)
    with pytest.raises(ShapeError, match="arrays of one length, as many as before"):
        gpuprims.stream([(x, x), (x,)], device=HERE).reduce(map="a*b")
    assert gpuprims.stream(x[:0], device=HERE).reduce() == 0
    assert [len(part) for part in gpuprims.stream(x[:0], device=HERE).scan()] == [0]
    with pytest.raises(EmptyReductionError):
        gpuprims.stream(x[:0], device=HERE).reduce(op="max")
    with pytest.raises(ArgumentError, match=r"a number or edges; got 'auto'"):
        gpuprims.stream(x, device=HERE).histogram("auto")


def test_arrays_of_another_byte_order(tmp_path) -> None:
    x = np.arange(100, dtype=">f4")
    stream = gpuprims.stream(mapped(tmp_path / "x.npy", x), chunk=30, device=SPECS[0])
    assert (stream.reduce(op="max"), stream.reduce(op="mean")) == (99, 49.5)
    np.testing.assert_array_equal(np.concatenate(list(stream.scan())), x.cumsum())
