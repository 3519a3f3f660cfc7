"""LogReg(tf32=True) begins with products in TF32, and ends where float32 does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.models import LogReg


@pytest.fixture
def rounding(device: gpuprims.Device) -> gpuprims.Device:
    if getattr(device.driver, "matmul_tf32", None) is None:
        pytest.skip("has no products in TF32")
    return device


def made(rng: np.random.Generator, classes: int, n: int = 2000, k: int = 37) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, k), dtype=np.float32)
    return X, (X @ rng.standard_normal((k, classes)) + rng.gumbel(size=(n, classes))).argmax(axis=1)


def loss(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    scores = X.astype(np.float64) @ model.coef_.T.astype(np.float64) + model.intercept_
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    largest = scores.max(axis=1)
    own = np.log(np.exp(scores - largest[:, None]).sum(axis=1)) + largest - scores[np.arange(len(y)), y]
    return float(own.sum() + (model.coef_.astype(np.float64) ** 2).sum() / 2)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 3), (300, 37, 10), (65, 1, 130), (4, 0, 3)])
def test_products_are_rounded_and_no_more(
    rounding: gpuprims.Device, rng: np.random.Generator, shape: tuple[int, int, int], order: Any
) -> None:
    m, k, n = shape
    one, other = (rng.standard_normal(size).astype(np.float32) for size in ((m, k), (k, n)))
    driver: Any = rounding.driver
    given = rounding.asarray(one) if order == "C" else rounding.asarray(np.ascontiguousarray(one.T)).T
    second = rounding.asarray(other) if order == "C" else rounding.asarray(np.ascontiguousarray(other.T)).T
    found = rounding.to_host(driver.matmul_tf32(given, second))
    exact = one.astype(np.float64) @ other
    bound = 2.0**-10 * (np.abs(one).astype(np.float64) @ np.abs(other)) + 1e-30
    assert found.dtype == np.float32
    assert found.shape == (m, n)
    assert np.all(np.abs(found - exact) <= bound)


@pytest.mark.parametrize(
    ("classes", "solver"), [(5, "auto"), (5, "lbfgs"), (3, "newton-cholesky"), (2, "newton-cholesky")]
)
def test_a_fit_ends_at_the_optimum(
    rounding: gpuprims.Device, rng: np.random.Generator, classes: int, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = made(rng, classes)
    driver, counts = type(rounding.driver), {"matmul": 0, "matmul_tf32": 0}
    for name in counts:
        product = getattr(rounding.driver, name)

        def counted(one: Any, other: Any, name: str = name, product: Any = product) -> Any:
            counts[name] += 1
            return product(one, other)

        monkeypatch.delitem(vars(rounding.driver), name, raising=False)  # which an earlier call may have left
        monkeypatch.setattr(driver, name, staticmethod(counted))
    model = LogReg(rounding, solver=solver, tf32=True, tol=1e-6, max_iter=500).fit(X, y)
    assert min(counts.values()) > 0
    peer = LogisticRegression(tol=1e-8, max_iter=3000).fit(X.astype(np.float64), y)
    assert loss(model, X, y) <= loss(peer, X, y) * (1 + 1e-5)
    assert model.stop_reason_ in ("tolerance", "rounding")
    assert model.n_iter_ == model.loss_iterations_[-1]


def test_iterations_of_both_parts_count(rounding: gpuprims.Device, rng: np.random.Generator) -> None:
    X, y = made(rng, 4)
    with pytest.warns(UserWarning, match="max_iter"):
        model = LogReg(rounding, tf32=True, max_iter=3).fit(X, y)
    assert (model.n_iter_, model.stop_reason_) == (3, "max_iter")


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "two classes": ({}, "more than two classes, or solver=.*; got 2 classes, solver='auto'"),
    "another solver": ({"solver": "gd"}, "got 2 classes, solver='gd'"),
    "magnitudes": ({"solver": "newton-cd", "l1_ratio": 1.0}, "no L1 penalty with tf32=True"),
    "fewer bits": ({"solver": "newton-cholesky", "feature_dtype": "int8"}, "no feature_dtype; got others"),
    "primitives alone": ({"solver": "newton-cholesky", "composed": True}, "dense float32 samples with tf32=True"),
    "no bool": ({"tf32": "yes"}, "tf32= True or False; got 'yes'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_has_no_products_is_refused(case: str) -> None:
    how, message = WRONG[case]
    with pytest.raises(ArgumentError, match=message):
        LogReg("reference", **{"tf32": True, **how}).fit(np.float32([[0], [1], [2], [3]]), [0, 1, 0, 1])


def test_float64_and_other_methods_are_refused() -> None:
    model = LogReg("reference", tf32=True)
    X, y = np.float32([[0], [1], [2], [3]]), [0, 1, 2, 1]
    with pytest.raises(ArgumentError, match="dense float32 samples"):
        model.fit(X.astype(np.float64), y)
    with pytest.raises(ArgumentError, match=r"LogReg\.path: tf32=False; got True"):
        model.path(X, y, [1.0])
    with pytest.raises(ArgumentError, match=r"LogReg\.partial_fit: tf32=False"):
        model.partial_fit(X, y, classes=[0, 1, 2])


def test_a_device_without_tensor_cores_is_refused(device: gpuprims.Device) -> None:
    if getattr(device.driver, "matmul_tf32", None) is not None:
        pytest.skip("has products in TF32")
    with pytest.raises(ArgumentError, match="tf32=False on a device without tensor cores or cuBLAS; got True on"):
        LogReg(device, tf32=True).fit(np.float32([[0], [1], [2], [3]]), [0, 1, 2, 1])
