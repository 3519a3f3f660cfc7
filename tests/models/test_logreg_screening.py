"""L1 penalties with many features: sets of features, which end at the optimum of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from logreg_cases import fit, need_float64
from scipy import sparse

import gpuprims
from gpuprims.models import LogReg
from gpuprims.models.logreg import proximal, screening
from gpuprims.models.logreg.objective import Objective


def made(rng: np.random.Generator, classes: int, kind: str = "dense") -> tuple[Any, np.ndarray, float]:
    """Return samples of 400 features, of which 8 matter, labels, and the largest C without coefficients."""
    X = rng.standard_normal((300, 400))
    if kind == "sparse":
        X[rng.random(X.shape) < 0.8] = 0
    y = (X[:, :8] @ rng.standard_normal((8, classes)) * 2 + rng.gumbel(size=(300, classes))).argmax(axis=1)
    slopes = np.abs(X.T @ (np.eye(classes)[y] - np.eye(classes)[y].mean(axis=0))).max()
    return sparse.csr_array(X) if kind == "sparse" else X, y, float(1 / slopes)


@pytest.fixture
def sets(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the sets that are fitted."""
    seen: list[int] = []
    own = Objective.columns

    def noted(objective: Objective, chosen: np.ndarray) -> Objective:
        seen.append(len(chosen))
        return own(objective, chosen)

    monkeypatch.setattr(Objective, "columns", noted)
    return seen


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("ratio", [1.0, 0.7])
def test_sets_end_at_the_optimum(
    device: gpuprims.Device, rng: np.random.Generator, sets: list[int], classes: int, kind: str, ratio: float
) -> None:
    need_float64(device)
    X, y, first = made(rng, classes, kind)
    how: dict[str, Any] = {"l1_ratio": ratio, "C": 4 * first, "tol": 1e-7, "max_iter": 3000}
    model = fit(device, X, y, **how)
    peer = fit("reference", X, y, solver="fista", **how)
    assert sets
    assert max(sets) * (1 if classes == 2 else 3) <= proximal.MOST_OF_HESSIAN
    assert model.stop_reason_ == "tolerance"
    assert 0 <= model.dual_gap_ <= 1e-7 * np.log(classes)
    assert model.loss_curve_[-1] == pytest.approx(peer.loss_curve_[-1], abs=3e-7)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_path_of_sets(device: gpuprims.Device, rng: np.random.Generator, sets: list[int], dtype: Any) -> None:
    need_float64(device)
    X, y, first = made(rng, 2)
    Cs = first * np.array([0.5, 1.5, 2, 3, 5])
    path = LogReg(device, l1_ratio=1, tol=1e-6, max_iter=2000).path(X.astype(dtype), y, Cs)
    assert not path.coef[0].any()
    assert set(path.stop_reason) == {"tolerance"}
    assert (path.dual_gap <= 1e-6 * np.log(2)).all()
    assert max(sets) < 200
    for at, C in enumerate(Cs):
        peer = fit("reference", X, y, l1_ratio=1, C=C, solver="fista", tol=1e-8, max_iter=5000)
        assert path.loss[at] == pytest.approx(peer.loss_curve_[-1], abs=1e-6)


def test_more_features_ask_than_a_set_may_have(
    rng: np.random.Generator, sets: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, first = made(rng, 2)
    monkeypatch.setattr(screening, "MOST_OF_HESSIAN", 10)
    how: dict[str, Any] = {"l1_ratio": 1, "C": 3 * first, "tol": 1e-6, "max_iter": 2000}
    model, peer = fit("reference", X, y, **how), fit("reference", X, y, solver="fista", **how)
    assert all(size <= 10 for size in sets)
    assert model.loss_curve_[-1] == pytest.approx(peer.loss_curve_[-1], abs=1e-6)


def test_a_callback_ends_a_fit_of_sets(rng: np.random.Generator) -> None:
    X, y, first = made(rng, 2)
    model = fit("reference", X, y, l1_ratio=1, C=6 * first, tol=1e-9, callback=lambda _: True)
    assert model.stop_reason_ == "callback"
    assert model.dual_gap_ > 0
    short = fit("reference", X, y, l1_ratio=1, C=6 * first, tol=1e-12, max_iter=2)
    assert short.stop_reason_ == "max_iter"
