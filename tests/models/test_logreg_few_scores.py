"""The loss of few samples of the host, which NumPy computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from logreg_cases import fit
from scipy import sparse
from scipy.special import log_softmax, softmax

import gpuprims
from gpuprims.models import LogReg, features
from gpuprims.models.in_place import reads_in_place
from gpuprims.models.logreg import few_scores
from gpuprims.models.logreg.few_scores import FewScores, has_few_scores
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.samples import Samples, samples_of

_ROWS, _FEATURES = 61, 7


@pytest.fixture
def cpu(device: gpuprims.Device) -> gpuprims.Device:
    if not reads_in_place(device):
        pytest.skip("kernels that work in the host's memory")
    return device


def samples(
    device: gpuprims.Device, rng: np.random.Generator, classes: int, dtype: Any = np.float32, form: Any = np.asarray
) -> tuple[Samples, np.ndarray]:
    """Return samples with weights, some of them 0, and their classes."""
    X, labels = rng.standard_normal((_ROWS, _FEATURES)).astype(dtype), np.arange(_ROWS) % classes
    weights = rng.integers(0, 4, _ROWS)
    return samples_of(LogReg(device), form(X), labels, weights), labels


def oracle(given: Samples, labels: np.ndarray, flat: np.ndarray, *, intercept: bool) -> tuple[float, np.ndarray]:
    """Return the summed loss and its gradient in float64."""
    X, outputs = given.features.matrix.toarray() if hasattr(given.features, "matrix") else given.features.array, 1
    X, s = X.astype(np.float64), given.sample_weight.astype(np.float64)
    outputs = len(flat) // (_FEATURES + intercept)
    coef, constants = flat[: outputs * _FEATURES].reshape(outputs, -1), flat[outputs * _FEATURES :]
    scores = X @ coef.T + (constants if intercept else 0)
    scores = np.hstack([np.zeros_like(scores), scores]) if outputs == 1 else scores
    loss = -s @ log_softmax(scores, axis=1)[np.arange(_ROWS), labels]
    slopes = s[:, None] * (softmax(scores, axis=1) - np.eye(scores.shape[1])[labels])
    slopes = slopes[:, 1:] if outputs == 1 else slopes
    return loss, np.concatenate([(slopes.T @ X).ravel(), slopes.sum(axis=0) if intercept else []])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("classes", [2, 3])
def test_loss_and_gradient_of_an_oracle(
    cpu: gpuprims.Device, rng: np.random.Generator, classes: int, form: Any, intercept: bool, dtype: str
) -> None:
    given, labels = samples(cpu, rng, classes, dtype, form)
    outputs = 1 if classes == 2 else classes
    flat = rng.standard_normal(outputs * (_FEATURES + intercept)).astype(dtype)
    loss, gradient = FewScores(given, outputs).loss(flat)
    assert gradient.dtype == dtype
    expected, slopes = oracle(given, labels, flat.astype(np.float64), intercept=intercept)
    within = 2e-6 if dtype == "f4" else 1e-13
    np.testing.assert_allclose(loss, expected, rtol=within)
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=within * np.abs(slopes).max() * 10)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_a_hessian_of_differences_and_of_kernels(
    cpu: gpuprims.Device,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    classes: int,
    intercept: bool,
    dtype: str,
) -> None:
    given, labels = samples(cpu, rng, classes, dtype)
    outputs = 1 if classes == 2 else classes
    flat = rng.standard_normal(outputs * (_FEATURES + intercept)).astype(dtype)
    found = FewScores(given, outputs).hessian(flat)
    steps = 1e-5 * np.eye(len(flat))
    expected = [
        np.subtract(*(oracle(given, labels, flat + way * step, intercept=intercept)[1] for way in (1, -1))) / 2e-5
        for step in steps
    ]
    largest = np.abs(found).max()
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=0, atol=(2e-6 if dtype == "f4" else 1e-9) * largest)
    whole = Objective(given, outputs, 0.1, fit_intercept=intercept)
    assert whole.has_few_weights
    monkeypatch.setattr(few_scores, "_MOST_TERMS", _ROWS * outputs * (_FEATURES + 1) - 1)
    by_kernels = Objective(given, outputs, 0.1, fit_intercept=intercept)
    assert not by_kernels.has_few_weights
    np.testing.assert_allclose(whole.hessian(flat), by_kernels.hessian(flat), rtol=0, atol=2e-6 * largest)


def test_a_hessian_of_certain_classes(cpu: gpuprims.Device, rng: np.random.Generator) -> None:
    """Probabilities near 0 and 1 leave a curvature of 1e-16, which a difference of them would lose."""
    given, _ = samples(cpu, rng, 2, "f8")
    flat = np.zeros(_FEATURES + 1)
    flat[-1] = 37
    curvature = given.sample_weight.sum() * np.exp(-37) / (1 + np.exp(-37)) ** 2
    np.testing.assert_allclose(FewScores(given, 1).hessian(flat)[-1, -1], curvature, rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_large_scores_are_finite(cpu: gpuprims.Device, rng: np.random.Generator, classes: int) -> None:
    given, labels = samples(cpu, rng, classes)
    outputs = 1 if classes == 2 else classes
    flat = (1e4 * rng.standard_normal(outputs * (_FEATURES + 1))).astype(np.float32)
    loss, gradient = FewScores(given, outputs).loss(flat)
    expected, slopes = oracle(given, labels, flat.astype(np.float64), intercept=True)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-4 * np.abs(slopes).max())


@pytest.mark.parametrize("classes", [2, 3])
def test_overflow_is_no_warning_but_a_loss_that_is_not_finite(
    cpu: gpuprims.Device, rng: np.random.Generator, classes: int
) -> None:
    given, _ = samples(cpu, rng, classes)
    outputs = 1 if classes == 2 else classes
    loss, _ = FewScores(given, outputs).loss(np.full(outputs * (_FEATURES + 1), 3e38, np.float32))
    assert not np.isfinite(loss)


LIMITS = [
    ("_MOST_ROWS", 1, 3),
    ("_MOST_SCORES", 3, 3),
    ("_ROWS_PER_FEATURE", 1 / _FEATURES, 2),
    ("_MOST_ELEMENTS", _FEATURES, 2),
]


@pytest.mark.parametrize(("name", "per_row", "classes"), LIMITS)
def test_more_samples_are_left_to_kernels(
    cpu: gpuprims.Device,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    per_row: float,
    classes: int,
) -> None:
    times = 4 if cpu.driver.wakes_threads else 1
    given, _ = samples(cpu, rng, classes)
    outputs = 1 if classes == 2 else classes
    flat = rng.standard_normal(outputs * (_FEATURES + 1))
    found = []
    for rows, few in ((_ROWS, True), (_ROWS - 1, False)):
        monkeypatch.setattr(few_scores, name, (rows + 0.5) * per_row / times)
        assert has_few_scores(given, outputs) == few
        found.append(Objective(given, outputs, 0.0, fit_intercept=True).loss_gradient(flat))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=2e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=0, atol=2e-6)


def test_what_must_be_kernels_is(
    cpu: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rng.standard_normal((_ROWS, _FEATURES)).astype(np.float32), np.arange(_ROWS) % 3
    asked: list[FewScores] = []
    loss = FewScores.loss
    monkeypatch.setattr(FewScores, "loss", lambda few, flat: (asked.append(few), loss(few, flat))[1])
    for how in ({"composed": True}, {"determinism": "device"}, {"feature_dtype": "int8"}):
        for given in (X, sparse.csr_array(X)) if "feature_dtype" not in how else (X,):
            fit(cpu, given, y, **how)
            assert not asked, how
    fit(cpu, X, y)
    fit(cpu, sparse.csr_array(X), y == 1)
    assert len({*map(id, asked)}) == 2


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("outputs", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("taken", [True, False])
def test_gradients_by_single_rows(
    cpu: gpuprims.Device,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    outputs: int,
    dtype: str,
    taken: bool,
) -> None:
    limits = {"_FEWEST_BY_THREE": 61 * 7, "_FEWEST_BY_SIX": 61 * 7, "_FEWEST_COLUMNS": 7}
    for name, most in limits.items():
        monkeypatch.setattr(features, name, most + (not taken))
    rows: list[int] = []
    dot = np.dot
    monkeypatch.setattr(np, "dot", lambda *given, **how: (rows.append(1), dot(*given, **how))[1])
    X, residuals = (rng.standard_normal((61, count)).astype(dtype) for count in (7, outputs))
    gradient = np.empty((outputs, 7), dtype)
    features.DenseFeatures(cpu, X).write_gradient(residuals, gradient)
    many = outputs in (2, 3) or (outputs in (4, 6) and dtype == "f8")
    assert len(rows) == outputs * (many and taken)
    expected = residuals.T.astype(np.float64) @ X.astype(np.float64)
    np.testing.assert_allclose(gradient, expected, rtol=0, atol=1e-5 if dtype == "f4" else 1e-13)
