"""Prototypes and MatchingNet: their similarities, means and votes, and bad input."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from kernel_cases import on_device, on_host
from logreg_cases import need_float64
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gpuprims
from gpuprims.errors import ArgumentError, DtypeError, UnknownKeywordError
from gpuprims.models import MatchingNet, Prototypes
from gpuprims.models.few_shot import similarity

METRICS = pytest.mark.parametrize("metric", ["cosine", "l2", "dot"])
KINDS = pytest.mark.parametrize("kind", [Prototypes, MatchingNet])
SIMILARITIES: dict[str, Any] = {
    "cosine": cosine_similarity,
    "l2": lambda X, Y: -euclidean_distances(X, Y, squared=True),
    "dot": lambda X, Y: X @ Y.T,
}


def data(classes: int = 4, dtype: str = "f8", *, offset: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a support, its labels, and queries near it."""
    rng = np.random.default_rng(classes)
    middles = 2 * rng.standard_normal((classes, 7)) + offset
    y = rng.permutation(np.arange(41) % classes)
    X, queries = (middles[codes] + rng.standard_normal((len(codes), 7)) for codes in (y, np.arange(150) % classes))
    X[0], queries[0] = 0, 0  # of no length
    return X.astype(dtype), np.array(list("wxyz"))[y], queries.astype(dtype)


@METRICS
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("classes", [2, 4])
def test_prototypes(device: gpuprims.Device, metric: str, dtype: str, classes: int) -> None:
    if dtype == "f8":
        need_float64(device)
    X, y, queries = data(classes, dtype)
    weight = np.linspace(0, 2, len(y))
    model = Prototypes(metric, scale=0.5, device=device).fit(X, y, sample_weight=weight)
    means = [np.average(X[y == one], axis=0, weights=weight[y == one]) for one in np.unique(y)]
    np.testing.assert_allclose(model.prototypes_, means, rtol=1e-5, atol=1e-6)
    scores = 0.5 * SIMILARITIES[metric](queries.astype("f8"), np.array(means))
    close = {"rtol": 1e-8, "atol": 1e-8} if dtype == "f8" else {"rtol": 1e-3, "atol": 2e-5}
    np.testing.assert_allclose(model.predict_proba(queries), softmax(scores, axis=1), **close)
    np.testing.assert_array_equal(model.predict(queries), np.unique(y)[scores.argmax(axis=1)])
    assert model.decision_function(queries).shape == ((150,) if classes == 2 else (150, 4))


def test_means_of_equal_weights_are_scikit_learns() -> None:
    X, y, _ = data()
    model, peer = Prototypes("l2", device="reference").fit(X, y), NearestCentroid().fit(X, y)
    np.testing.assert_allclose(model.prototypes_, peer.centroids_, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))
    assert model.score(X, y) == peer.score(X, y)


@METRICS
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("neighbors", [None, 1, 5, 41, 100])
def test_votes_of_the_support(device: gpuprims.Device, metric: str, dtype: str, neighbors: int | None) -> None:
    if dtype == "f8":
        need_float64(device)
    X, y, queries = data(4, dtype)
    model = MatchingNet(metric, scale=0.7, n_neighbors=neighbors, device=device).fit(X, y)
    near = 0.7 * SIMILARITIES[metric](queries.astype("f8"), X.astype("f8"))
    if neighbors is not None and neighbors < len(y):
        near[near < np.sort(near, axis=1)[:, -neighbors][:, None]] = -np.inf
    votes = softmax(near, axis=1)
    shares = np.stack([votes[:, y == one].sum(axis=1) for one in np.unique(y)], axis=1)
    found = model.predict_proba(queries)[1:]  # a sample without length is as near to all
    np.testing.assert_allclose(found, shares[1:], rtol=1e-3, atol=1e-4 if dtype == "f4" else 1e-9)
    np.testing.assert_array_equal(model.predict(queries)[1:], np.unique(y)[shares[1:].argmax(axis=1)])


@KINDS
def test_blocks_of_samples_give_the_same(monkeypatch: pytest.MonkeyPatch, device: gpuprims.Device, kind: Any) -> None:
    X, y, queries = data(4, "f4")
    model = kind(device=device).fit(X, y)
    expected = model.predict_proba(queries)
    monkeypatch.setattr(similarity, "_BLOCK_BYTES", 41 * 4 * 37)
    np.testing.assert_allclose(model.predict_proba(queries), expected, rtol=1e-6)


@KINDS
def test_distances_of_samples_far_from_zero(device: gpuprims.Device, kind: Any) -> None:
    """Squares of 10^4 leave float32 no digits of a squared distance of 10."""
    X, y, queries = data(4, "f4", offset=1e4)
    X[0] = X[1:][y[1:] == y[0]][0]
    exact = kind("l2", device="reference").fit(X.astype("f8"), y).predict(queries.astype("f8"))
    assert (kind("l2", device=device).fit(X, y).predict(queries) == exact).mean() > 0.99


@KINDS
@METRICS
def test_arrays_of_the_device_come_back(device: gpuprims.Device, kind: Any, metric: str) -> None:
    X, _, queries = data(4, "f4")
    y = (np.arange(41) % 3).astype("i4")
    there, labels, asked = (on_device(device, one) for one in (X, y, queries))
    model, peer = kind(metric, device=device).fit(there, labels), kind(metric, device=device).fit(X, y)
    guess = model.predict(asked)
    assert type(guess) is type(there)
    np.testing.assert_array_equal(on_host(device, guess), peer.predict(queries))
    np.testing.assert_allclose(on_host(device, model.predict_proba(asked)), peer.predict_proba(queries), rtol=1e-4)
    assert model.score(there, labels) == peer.score(X, y)


def test_cosines_and_more_shots_are_better_as_in_the_article() -> None:
    """Cosines are better than inner products, and more shots are better."""
    X, y = load_digits(return_X_y=True)
    rng, found = np.random.default_rng(0), dict[Any, list[float]]()
    X = X - X[y < 5].mean(axis=0)
    for shots in (1, 5):
        for _ in range(15):
            places = [rng.permutation(np.flatnonzero(y == one)) for one in rng.permutation(10)[:5]]
            support, query = (np.concatenate([one[part] for one in places]) for part in (slice(shots), slice(10, 25)))
            for kind in (Prototypes, MatchingNet):
                for metric in ("cosine", "l2", "dot"):
                    scale = 0.002 if metric != "cosine" else 10
                    model = kind(metric, scale=scale, device="reference").fit(X[support], y[support])
                    found.setdefault((kind, metric, shots), []).append(model.score(X[query], y[query]))
    mean = {key: np.mean(scores) for key, scores in found.items()}
    for kind in (Prototypes, MatchingNet):
        assert mean[kind, "cosine", 5] > mean[kind, "dot", 5]
        assert mean[kind, "cosine", 5] > mean[kind, "cosine", 1] > 0.6
        assert mean[kind, "cosine", 5] > 0.85


# scikit-learn's tools, and bad input ---------------------------------------------------------------------------------


def test_all_of_scikit_learns_checks_and_none_skipped() -> None:
    program = """
import warnings
warnings.simplefilter("ignore")
from sklearn.utils.estimator_checks import check_estimator
from gpuprims.models import MatchingNet, Prototypes
for one in (Prototypes(device="reference"), MatchingNet("l2", n_neighbors=3, device="reference")):
    found = check_estimator(one, on_fail=None, on_skip=None)
    assert len(found) > 50
    for check in found:
        if check["status"] != "passed":
            print(one, check["check_name"], check["status"], check["exception"])
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert not told.stdout, told.stdout


@KINDS
def test_pipelines_pickles_and_clones(kind: Any) -> None:
    X, y, queries = data()
    pipeline = make_pipeline(StandardScaler(), kind(device="reference"))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.7
    model = kind("l2", device="reference").fit(X, y)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 - written here
    np.testing.assert_array_equal(again.predict_proba(queries), model.predict_proba(queries))
    assert clone(model).get_params() == model.get_params()


@KINDS
def test_samples_and_parameters_that_are_wrong(kind: Any) -> None:
    X, y, queries = data()
    label = kind.__name__
    nan = np.where(X > 3, np.nan, X)
    for given, labels, error, words in (
        (nan, y, ArgumentError, f"{label}: finite features; got .*NaN"),
        (X, np.repeat("w", 41), ArgumentError, f"{label}: at least two classes; got one class, 'w'"),
        (X, y[:5], ArgumentError, f"{label}: a label for each sample; got 5 for 41"),
        (X, X[:, 0], ArgumentError, f"{label}: y of classes"),
        (X[0], y, ArgumentError, f"{label}: X of shape"),
        (sparse.csr_array(X), y, DtypeError, f"{label}: .*dense"),
    ):
        with pytest.raises(error, match=words):
            kind(device="reference").fit(given, labels)
    with pytest.raises(NotFittedError, match=f"{label}: a fitted model"):
        kind().predict(X)
    model = kind(device="reference").fit(X, y)
    with pytest.raises(ArgumentError, match="NaN"):
        model.predict(np.where(queries > 3, np.nan, queries))
    with pytest.raises(ArgumentError, match="7 features, as in the fit; got 3"):
        model.predict(queries[:, :3])
    with pytest.raises(ArgumentError, match="metric= one of 'cosine', 'dot', 'l2'; got 'euclidean'"):
        kind("euclidean").fit(X, y)
    with pytest.raises(ArgumentError, match="scale"):
        kind(scale=0).fit(X, y)
    with pytest.raises(UnknownKeywordError, match="temperature"):
        kind(temperature=3)
    with pytest.raises(ArgumentError, match="a positive sample weight in each class; got none in 'w'"):
        Prototypes(device="reference").fit(X, y, sample_weight=(y != "w").astype("f8"))
    with pytest.raises(ArgumentError, match="n_neighbors"):
        MatchingNet(n_neighbors=0).fit(X, y)
