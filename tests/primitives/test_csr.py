"""Products with a sparse matrix, of every kernel, held against SciPy in float64; and LogReg on sparse samples."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from kernel_cases import Kernel, assert_product, on_device, on_host, two_groups
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.errors import ArgumentError, DeviceMismatchError, DtypeError, ShapeError, UnknownVariantError
from gpuprims.models import LogReg
from gpuprims.models.logreg.sparse import SparseFeatures
from gpuprims.primitives.csr import csr_product

FLOATS = ("float32", "float64")


def rows_of(rng: np.random.Generator, lengths: Any, k: int, dtype: Any = "f4") -> sparse.csr_array:
    """Return a matrix with rows of such lengths, whose columns are anywhere, some several times in a row."""
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    data = rng.standard_normal(indptr[-1]).astype(dtype)
    return sparse.csr_array((data, rng.integers(0, k, indptr[-1]).astype(np.int32), indptr), (len(lengths), k))


def beside(rng: np.random.Generator, k: int, outputs: int | None, dtype: Any = "f4") -> np.ndarray:
    return rng.standard_normal(k if outputs is None else (k, outputs)).astype(dtype)


def product(kernel: Kernel, A: Any, dense: Any) -> Any:
    how: dict[str, Any] = {"device": kernel.device, "variant": kernel.variant.name}
    return csr_product(A.data, A.indices, A.indptr, dense, **how)


# The primitive -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("outputs", [None, 1, 2, 3, 4, 5, 9, 17])
def test_every_number_of_outputs(csr_kernel: Kernel, outputs: int | None, dtype: str, rng: np.random.Generator) -> None:
    csr_kernel.need(dtype)
    A, B = rows_of(rng, rng.integers(0, 30, 200), 77, dtype), beside(rng, 77, outputs, dtype)
    assert_product(product(csr_kernel, A, B), A, B)
    resident = [on_device(csr_kernel.device, a) for a in (A.data, A.indices, A.indptr, B)]
    got = csr_product(*resident, variant=csr_kernel.variant.name, device=csr_kernel.device)
    assert type(got) is type(resident[0])
    assert_product(on_host(csr_kernel.device, got), A, B)


# On both sides of a power of two, of a warp, of the elements that lanes take at once, and of a stretch of a CPU.
@pytest.mark.optimised
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33, 127, 128, 129, 511, 512, 513, 2000])
def test_every_length_of_rows(csr_kernel: Kernel, length: int, rng: np.random.Generator) -> None:
    for n in (1, 7, 65):
        A, B = rows_of(rng, np.full(n, length), 300), beside(rng, 300, None)
        assert_product(product(csr_kernel, A, B), A, B)


def test_every_number_of_rows(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    for n in (1, 2, 7, 8, 9, 255, 256, 257, 4095, 4096, 4097, 20_011):
        for mean in (1, 6):
            A, B = rows_of(rng, rng.integers(0, 2 * mean + 1, n), 50), beside(rng, 50, None)
            if A.nnz:
                assert_product(product(csr_kernel, A, B), A, B)


def test_rows_that_are_empty(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    for lengths in ([0, 0, 5], [5, 0, 0], [0, 3, 0, 0, 4, 0], [0] * 5000 + [1], [1] + [0] * 5000, [0, 0]):
        for outputs in (None, 3):
            A, B = rows_of(rng, lengths, 9), beside(rng, 9, outputs)
            assert_product(product(csr_kernel, A, B), A, B)


def test_nothing_at_all(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    for n, k, outputs in ((0, 5, None), (0, 5, 2), (3, 0, None), (0, 0, None), (4, 3, 0)):
        A, B = rows_of(rng, [0] * n, k), beside(rng, k, outputs)
        assert_product(product(csr_kernel, A, B), A, B)
        resident = [csr_kernel.device.asarray(a) for a in (A.data, A.indices, A.indptr, B)]
        got = csr_product(*resident, variant=csr_kernel.variant.name, device=csr_kernel.device)
        assert_product(on_host(csr_kernel.device, got), A, B)


def test_long_rows_among_short(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    lengths = np.ones(3000, int)
    lengths[[0, 17, 1500, 2999]] = 100_000, 0, 70_001, 33_333
    for outputs in (None, 5):
        A, B = rows_of(rng, lengths, 1000), beside(rng, 1000, outputs)
        assert_product(product(csr_kernel, A, B), A, B)


def test_one_row_and_one_column(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    for lengths, k in (([1], 1), ([700], 1), ([3], 800), ([1, 0, 2], 1)):
        for outputs in (None, 1, 2):
            A, B = rows_of(rng, lengths, k), beside(rng, k, outputs)
            assert_product(product(csr_kernel, A, B), A, B)


def test_integers_of_64_bits(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    A, B = rows_of(rng, rng.integers(0, 9, 300), 40), beside(rng, 40, 2)
    wide = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    how: dict[str, Any] = {"device": csr_kernel.device, "variant": csr_kernel.variant.name}
    for indices, indptr in ((wide[0], wide[1]), (wide[0], A.indptr), (A.indices, wide[1])):
        assert_product(csr_product(A.data, indices, indptr, B, **how), A, B)


def test_elements_that_are_zero_or_no_number(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    A, B = rows_of(rng, [3, 0, 5, 40], 20), beside(rng, 20, None)
    A.data[::2] = 0
    assert_product(product(csr_kernel, A, B), A, B)
    A.data[4] = np.nan
    got = product(csr_kernel, A, B)
    np.testing.assert_array_equal(np.isnan(got), [False, False, True, False])
    A.data[4], B[:] = 1, np.nan  # columns that no element of a row is in do not spoil it
    np.testing.assert_array_equal(np.isnan(product(csr_kernel, A, B)), [True, False, True, True])


def test_sums_of_long_rows_lose_little(csr_kernel: Kernel) -> None:
    n = 2_000_000
    data, indices = np.full(n, 0.1, np.float32), np.zeros(n, np.int32)
    how: dict[str, Any] = {"device": csr_kernel.device, "variant": csr_kernel.variant.name}
    got = csr_product(data, indices, np.array([0, n], np.int32), np.ones(1, np.float32), **how)
    assert got[0] == pytest.approx(n * float(np.float32(0.1)), rel=1e-6)  # one after the other: 1e-2


def test_sums_that_are_infinite(csr_kernel: Kernel) -> None:
    data = np.ones((5, 3000), np.float32)
    data[0, 3], data[1, 4], data[1, 2999], data[2, 7], data[3, ::1000] = np.inf, np.inf, -np.inf, -np.inf, 3e38
    indptr, how = np.arange(0, 15_001, 3000), {"device": csr_kernel.device, "variant": csr_kernel.variant.name}
    with np.errstate(all="ignore"):
        got = csr_product(data.ravel(), np.zeros(15_000, int), indptr, np.ones(1, np.float32), **how)
    np.testing.assert_array_equal(got, np.float32([np.inf, np.nan, -np.inf, np.inf, 3000]))


def test_the_same_bits_from_run_to_run(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    A, B = rows_of(rng, rng.integers(0, 300, 3000), 999), beside(rng, 999, 3)
    first = product(csr_kernel, A, B)
    for _ in range(4):
        np.testing.assert_array_equal(product(csr_kernel, A, B), first)


def test_groups_that_take_several_runs(
    csr_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if csr_kernel.device.backend == "reference":
        pytest.skip("NumPy has no groups")
    A, B = rows_of(rng, rng.integers(0, 50, 5003), 71), beside(rng, 71, 2)
    with two_groups(csr_kernel.device, monkeypatch):
        assert_product(product(csr_kernel, A, B), A, B)


def test_arrays_that_lie_apart(device: gpuprims.Device, rng: np.random.Generator) -> None:
    A, B = rows_of(rng, rng.integers(0, 9, 300), 40), beside(rng, 40, 6)
    apart = [np.repeat(a, 2)[::2] for a in (A.data, A.indices, A.indptr)]
    for dense in (B[:, ::2], np.asfortranarray(B), B[::-1], np.broadcast_to(B[0], B.shape), B.astype(">f4")):
        plain = np.ascontiguousarray(dense, np.float32)
        assert_product(csr_product(*apart, dense, device=device), A, plain)
    there = on_device(device, np.ascontiguousarray(B.T))
    resident = [on_device(device, a) for a in (A.data, A.indices, A.indptr)]
    assert_product(on_host(device, csr_product(*resident, there.T, device=device)), A, B)
    part = A[100:]
    begin = A.indptr[100]
    cut = resident[0][begin:], resident[1][begin:], on_device(device, part.indptr)
    assert_product(on_host(device, csr_product(*cut, there.T, device=device)), part, B)


WRONG: dict[str, tuple[Any, Any, str]] = {
    "begins": ([0, 1, 2, 1], [1, 2, 2, 4], "indptr that begins at 0; got 1"),
    "decreases": ([0, 1, 2, 1], [0, 3, 2, 4], "indptr that never decreases; got 3 and then 2 at row 1"),
    "ends before": ([0, 1, 2, 1], [0, 1, 2, 3], "ends at the number of stored elements, 4; got 3"),
    "ends behind": ([0, 1, 2, 1], [0, 1, 2, 5], "ends at the number of stored elements, 4; got 5"),
    "wraps": ([0, 1, 2, 1], [0, 2**31 - 1, -(2**31), 4], "indptr that never decreases; got 2147483647 and then -2147"),
    "below": ([0, 1, -1, 1], [0, 1, 2, 4], r"columns from 0 to 2; got indices\[2\] = -1"),
    "above": ([0, 1, 2, 3], [0, 1, 2, 4], r"columns from 0 to 2; got indices\[3\] = 3"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_wrong_indices_are_found_before_a_kernel_reads_by_them(
    device: gpuprims.Device, wrong: tuple[Any, Any, str], dtype: str
) -> None:
    indices, indptr = (np.array(values, dtype) for values in wrong[:2])
    arrays = np.ones(4, np.float32), indices, indptr, np.ones(3, np.float32)
    with pytest.raises(ArgumentError, match=f"csr_product: .*{wrong[2]}"):
        csr_product(*arrays, device=device)
    with pytest.raises(ArgumentError, match=f"csr_product: .*{wrong[2]}"):
        csr_product(*(on_device(device, array) for array in arrays), device=device)


def test_wrong_arguments(device: gpuprims.Device) -> None:
    f4, i4 = np.float32, np.int32
    good: dict[str, Any] = {
        "data": np.ones(4, f4), "indices": np.zeros(4, i4), "indptr": np.array([0, 4], i4), "dense": np.ones(3, f4)
    }  # fmt: skip

    def refused(error: type[Exception], words: str, **other: Any) -> None:
        arrays = [other.get(name, array) for name, array in good.items()]
        with pytest.raises(error, match=f"csr_product.*{words}"):
            csr_product(*arrays, device=device, variant=other.get("variant"))

    refused(DtypeError, "data of float32 or float64; got dtype int64 .convert it", data=np.ones(4, int))
    refused(DtypeError, "dense of the dtype of data, float32; got float64", dense=np.ones(3))
    refused(DtypeError, "indices of int32 or int64; got dtype float32", indices=np.zeros(4, f4))
    refused(DtypeError, "indptr of int32 or int64; got dtype uint32", indptr=np.array([0, 4], np.uint32))
    refused(ShapeError, r"of one shape \(stored,\); got \(4,\) and \(3,\)", indices=np.zeros(3, i4))
    refused(ShapeError, r"of one shape \(stored,\); got \(2, 2\)", data=np.ones((2, 2), f4))
    refused(ShapeError, r"indptr of shape \(n \+ 1,\), for n rows; got \(0,\)", indptr=np.zeros(0, i4))
    refused(ShapeError, r"dense of shape \(k,\) or \(k, outputs\); got \(1, 1, 3\)", dense=np.ones((1, 1, 3), f4))
    refused(ArgumentError, "no elements where there are no columns", dense=np.ones(0, f4))
    with pytest.raises(UnknownVariantError, match="got 'no_such'"):
        csr_product(*good.values(), device=device, variant="no_such")
    if device.backend != "reference":
        with pytest.raises(DeviceMismatchError, match="arrays on one device"):
            csr_product(on_device(device, good["data"]), *list(good.values())[1:])


def test_the_choice_is_explained(device: gpuprims.Device) -> None:
    chosen = gpuprims.explain("csr", device, size=50, outputs=10**5).chosen
    assert chosen is not None
    assert chosen.name == {"cpu": "cpu_rows", "reference": "numpy"}.get(device.capabilities.kind, "rows")


# LogReg --------------------------------------------------------------------------------------------------------------

SOLVERS = ("lbfgs", "newton-cholesky", "gd", "minibatch")


def labelled(rng: np.random.Generator, classes: int, dtype: Any = "f8") -> tuple[sparse.csr_array, np.ndarray]:
    """Return samples, of which some are empty, and labels that are not quite linear in them."""
    lengths = rng.integers(0, 12, 600)
    lengths[5] = 0
    X = rows_of(rng, lengths, 40, dtype)
    X.data[::9] = 0
    scores = X @ rng.standard_normal((40, classes)) + 0.5 * rng.standard_normal((600, classes))
    return X, scores.argmax(axis=1)


def fit(device: Any, X: Any, y: Any, *, sample_weight: Any = None, **parameters: Any) -> LogReg:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogReg(device, random_state=0, **parameters).fit(X, y, sample_weight=sample_weight)


def need_float64(device: gpuprims.Device) -> None:
    if not device.capabilities.fp64:
        pytest.skip("the device has no float64")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_samples_are_as_dense_ones(
    device: gpuprims.Device, solver: str, classes: int, intercept: bool, rng: np.random.Generator
) -> None:
    need_float64(device)
    X, y = labelled(rng, classes)
    how: dict[str, Any] = {"solver": solver, "fit_intercept": intercept, "max_iter": 40, "batch_size": 70}
    how["sample_weight"] = rng.random(len(y))
    model, peer = fit(device, X, y, **how), fit(device, X.toarray(), y, **how)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=1e-6)
    for method in ("predict_proba", "decision_function", "predict_log_proba"):
        got = getattr(model, method)(X)
        assert type(got) is np.ndarray
        np.testing.assert_allclose(got, getattr(model, method)(X.toarray()), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.toarray()))
    assert model.score(X, y) == model.score(X.toarray(), y)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learns_optimum(device: gpuprims.Device, solver: str, classes: int, rng: np.random.Generator) -> None:
    need_float64(device)
    X, y = labelled(rng, classes)
    model = fit(device, X, y, solver=solver, tol=1e-8, max_iter=500)
    peer = LogisticRegression(tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-4)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, atol=2e-4)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("classes", [2, 4])
def test_float32_stays_float32(device: gpuprims.Device, solver: str, classes: int, rng: np.random.Generator) -> None:
    X, y = labelled(rng, classes, "f4")
    how: dict[str, Any] = {"solver": solver, "max_iter": 40}
    model, peer = fit(device, X, y, **how), fit(device, X.toarray(), y, **how)
    assert model.coef_.dtype == model.predict_proba(X).dtype == np.float32
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=5e-3)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_every_sparse_form_is_converted(form: str, kind: Any, rng: np.random.Generator) -> None:
    X, y = labelled(rng, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
        same = kind(X.copy()).asformat(form)
    model, peer = (fit("reference", one, y, solver="newton-cholesky", tol=1e-8) for one in (same, X))
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(same), peer.predict_proba(X), atol=1e-12)


def test_wide_indices_and_the_samples_themselves_are_left_alone(
    device: gpuprims.Device, rng: np.random.Generator
) -> None:
    X, y = labelled(rng, 2, "f4")
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    model, peer = fit(device, wide, y), fit(device, X, y)
    np.testing.assert_array_equal(model.coef_, peer.coef_)
    np.testing.assert_array_equal(model.predict_proba(wide), peer.predict_proba(X))
    assert wide.indices.dtype == np.int64
    np.testing.assert_array_equal(wide.data, X.data)


def test_partial_fits_of_sparse_samples(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = labelled(rng, 3, "f4")
    model, peer = (LogReg(device, batch_size=50, random_state=0) for _ in range(2))
    for start in (0, 1, 0):
        model.partial_fit(X[start::2], y[start::2], classes=[0, 1, 2])
        peer.partial_fit(X[start::2].toarray(), y[start::2], classes=[0, 1, 2])
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)


def test_a_target_error_of_sparse_samples(device: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = labelled(rng, 2, "f4")
    how: dict[str, Any] = {"target_error": 0.0, "validation_fraction": 0.3, "max_iter": 10}
    model, peer = fit(device, X, y, **how), fit(device, X.toarray(), y, **how)
    np.testing.assert_allclose(model.validation_errors_, peer.validation_errors_, atol=0.01)


def test_second_derivatives_of_slabs(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    X, y = labelled(rng, 3)
    whole = fit("reference", X, y, solver="newton-cholesky")
    monkeypatch.setattr("gpuprims.models.logreg.sparse._SLAB", 40 * 8 * 7)  # seven rows, and at last five
    slabs = fit("reference", X, y, solver="newton-cholesky")
    np.testing.assert_allclose(slabs.coef_, whole.coef_, rtol=1e-9)


def test_columns_are_kept_but_of_parts_with_few_elements(rng: np.random.Generator) -> None:
    X, _ = labelled(rng, 2)
    whole = SparseFeatures(gpuprims.Device("reference"), X)
    assert whole._by_columns() is whole._by_columns()
    assert whole._by_rows() is whole._by_rows()
    many, few = whole.part(0, 100), whole.part(5, 7)
    assert many._by_columns() is many._by_columns()
    assert few._by_columns() is not few._by_columns()
    np.testing.assert_array_equal(few.scores(np.ones((1, 40)))[:, 0], X[5:7].sum(axis=1))


def test_long_rows_and_columns_are_cut(
    device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    for long in (1, 7, 8, 63):
        monkeypatch.setattr("gpuprims.models.logreg.sparse._LONG", long)
        for lengths in (rng.integers(0, 64, 90), [0, 8, 16, 9, 0], [0, 1, 0]):
            X = rows_of(rng, lengths, 33)
            features = SparseFeatures(device, X)
            for outputs in (1, 3):
                ahead, behind = beside(rng, outputs, 33), beside(rng, len(lengths), outputs)
                got = features.scores(device.asarray(ahead))
                assert_product(on_host(device, got), X, np.ascontiguousarray(ahead.T))
                gradient = device.driver.empty((outputs, 33), np.dtype("f4"))
                features.back(device.asarray(behind), gradient)
                assert_product(on_host(device, gradient).T, sparse.csr_array(X.T), behind)


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_wrong_indices_are_found_by_fit_and_predict(wrong: tuple[Any, Any, str], kind: Any) -> None:
    X = kind(np.eye(3))
    model = LogReg("reference").fit(X, [0, 1, 1])
    X.data = np.ones(4)
    X.indices, X.indptr = (np.array(values, np.int32) for values in wrong[:2])
    for call in (lambda: model.fit(X, [0, 1, 1]), lambda: model.predict(X), lambda: model.partial_fit(X, [0, 1, 1])):
        with pytest.raises(ValueError, match=f"LogReg: .*{wrong[2]}"):
            call()


def test_what_sparse_samples_are_not_for(rng: np.random.Generator) -> None:
    X, y = labelled(rng, 2)
    with pytest.raises(ArgumentError, match=r"feature_dtype=None for sparse samples; got int8 .or pass X.toarray"):
        LogReg("reference", feature_dtype="int8").fit(X, y)
    spoilt = X.copy()
    spoilt.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LogReg("reference").fit(spoilt, y)
    model = fit("reference", X, y)
    with pytest.raises(ValueError, match="40 features"):
        model.predict(X[:, :7])


@pytest.mark.parametrize("solver", ["lbfgs", "gd", "minibatch"])
def test_many_features_are_never_written_out(device: gpuprims.Device, solver: str, rng: np.random.Generator) -> None:
    n, k = 20_000, 200_000  # 16 GB of float32
    X, y = rows_of(rng, np.full(n, 10), k), rng.integers(0, 2, n)
    tracemalloc.start()
    model = fit(device, X, y, solver=solver, max_iter=2, batch_size=5000)
    probabilities = model.predict_proba(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert probabilities.shape == (n, 2)
    assert model.loss_curve_[-1] < np.log(2)
    assert peak < 200e6
