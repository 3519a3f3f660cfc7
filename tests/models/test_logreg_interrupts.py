"""Ctrl-C during a fit keeps the weights of the last iteration."""

from __future__ import annotations

import signal
import warnings
from typing import Any

import numpy as np
import pytest
from logreg_cases import ALL_SOLVERS, Data
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from gpuprims.models import LogReg
from gpuprims.models.logreg.objective import Objective


@ALL_SOLVERS
def test_an_interrupt_leaves_the_weights_so_far_and_goes_on(cancer: Data, solver: str) -> None:
    told: list[Any] = []

    def interrupt(progress: Any) -> None:
        told.append(progress)
        if len(told) == 3:
            signal.raise_signal(signal.SIGINT)

    X, y = cancer[0].astype(np.float32), cancer[1]
    model = LogReg("reference", solver=solver, callback=interrupt, tol=0, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert (model.stop_reason_, model.n_iter_) == ("interrupted", told[-1].iteration)
    assert model.loss_iterations_ == [one.iteration for one in told]
    np.testing.assert_array_equal(model.coef_, told[-1].coef.astype(np.float32))
    assert model.score(X, y) > 0.9
    model.set_params(callback=None, warm_start=True, max_iter=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert model.fit(X, y).loss_curve_[-1] < told[-1].loss


@ALL_SOLVERS
def test_an_interrupt_between_looks_keeps_the_last_look(
    cancer: Data, solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []

    def loss(self: Objective, weights: Any) -> Any:
        if len(told) == 2:
            raise KeyboardInterrupt
        return evaluate(self, weights)

    evaluate = Objective.loss
    monkeypatch.setattr(Objective, "loss", loss)
    model = LogReg("reference", solver=solver, callback=told.append, tol=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*cancer)
    assert (model.stop_reason_, model.loss_curve_) == ("interrupted", [one.loss for one in told])
    np.testing.assert_array_equal(model.coef_, told[-1].coef)


def test_an_interrupt_before_the_first_iteration_leaves_the_start(
    cancer: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Objective, "loss_gradient", interrupt)
    model = LogReg("reference", solver="lbfgs")
    with pytest.raises(KeyboardInterrupt):
        model.fit(*cancer)
    assert (model.stop_reason_, model.n_iter_, model.loss_curve_) == ("interrupted", 0, [])
    np.testing.assert_array_equal(model.coef_, np.zeros((1, 30)))


def test_an_interrupted_partial_fit_leaves_the_weights_before(cancer: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = cancer
    model = LogReg("reference", random_state=0).partial_fit(X, y, classes=[0, 1])
    before = model.coef_.copy(), model.n_iter_, list(model.loss_curve_)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Objective, "loss_gradient", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before[0])
    assert (model.n_iter_, model.loss_curve_) == before[1:]


def test_an_interrupt_ends_a_search(cancer: Data) -> None:
    fits: list[int] = []

    def interrupt(_: Any) -> None:
        fits.append(1)
        raise KeyboardInterrupt

    search = GridSearchCV(LogReg("reference", callback=interrupt), {"C": [0.1, 1.0, 10.0]}, cv=3)
    with pytest.raises(KeyboardInterrupt):
        search.fit(*cancer)
    assert len(fits) == 1
