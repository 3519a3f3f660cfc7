"""LogReg of sharded samples: the optimum of one device's fit and of scikit-learn's."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from device_groups import group_of
from sklearn.linear_model import LogisticRegression

import gpuprims
from gpuprims.distributed import LogReg
from gpuprims.distributed.passes import Pass
from gpuprims.errors import ArgumentError, ArrayError, ShapeError, ShardError
from gpuprims.models import LogReg as OneLogReg


def samples(rng: np.random.Generator, classes: int, dtype=np.float64, n: int = 601):
    X = rng.standard_normal((n, 5)).astype(dtype)
    scores = X @ rng.standard_normal((5, classes)) + rng.gumbel(size=(n, classes))
    return X, scores.argmax(axis=1)


def reference(X, y, C=1.0, weights=None, *, fit_intercept=True):
    model = LogisticRegression(C=C, tol=1e-10, max_iter=10_000, fit_intercept=fit_intercept)
    return model.fit(X.astype(np.float64), y, sample_weight=weights)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_optimum_is_scikit_learns(solver, classes, rng) -> None:
    group = group_of("reference")
    X, y = samples(rng, classes)
    sharded = group.scatter(X)
    model = LogReg(solver=solver, tol=1e-9).fit(sharded, group.scatter(y))
    wanted = reference(X, y)
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-6)
    shift = 0 if classes == 2 else model.intercept_.mean() - wanted.intercept_.mean()
    np.testing.assert_allclose(model.intercept_ - shift, wanted.intercept_, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(sharded).gather(), wanted.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(model.predict(sharded).gather(), wanted.predict(X))
    assert model.score(sharded, y) == model.score(X, y) == wanted.score(X, y)


def test_fits_on_devices_agree_with_one_device(group, rng) -> None:
    X, y = samples(rng, 2, np.float32)
    fits = [LogReg(tol=1e-6).fit(group.scatter(X), group.scatter(y)) for _ in range(2)]
    one = OneLogReg(device=group.devices[0], solver="lbfgs", tol=1e-6).fit(X, y)
    np.testing.assert_allclose(fits[0].coef_, one.coef_, atol=2e-4)
    assert fits[0].coef_.dtype == np.float32
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)  # the same bits in every run


def test_shards_on_devices_are_not_copied_to_the_host(group, rng) -> None:
    X, y = samples(rng, 2, np.float32)
    cuts = np.linspace(0, len(X), len(group) + 1).astype(int)
    parts = [(X[a:b], y[a:b].astype(np.int32)) for a, b in pairwise(cuts)]
    there = [
        group.from_shards([device.asarray(part[k]) for device, part in zip(group.devices, parts, strict=True)])
        for k in range(2)
    ]
    model = LogReg(tol=1e-6).fit(*there)
    np.testing.assert_allclose(model.coef_, reference(X, y).coef_, atol=2e-4)


def test_weights_penalties_and_no_intercept(rng) -> None:
    group = group_of("reference")
    X, y = samples(rng, 2)
    weights = rng.integers(0, 4, len(y)).astype(np.float64)
    for given in (weights, group.scatter(weights)):
        model = LogReg(C=0.1, tol=1e-9, fit_intercept=False).fit(group.scatter(X), y, given)
        np.testing.assert_allclose(model.coef_, reference(X, y, 0.1, weights, fit_intercept=False).coef_, atol=1e-6)
    free = LogReg(penalty=None, tol=1e-9).fit(group.scatter(X), y)
    np.testing.assert_allclose(free.coef_, reference(X, y, 1e12).coef_, atol=1e-4)


def test_a_shard_may_lack_classes_and_labels_may_be_texts(rng) -> None:
    group = group_of("reference")
    X, y = samples(rng, 3)
    order = np.argsort(y, kind="stable")
    X, names = X[order], np.array(["apple", "pear", "plum"])[y[order]]
    model = LogReg(tol=1e-8).fit(group.scatter(X), names)
    assert model.classes_.tolist() == ["apple", "pear", "plum"]
    np.testing.assert_allclose(model.predict_proba(X), reference(X, names).predict_proba(X), atol=1e-5)
    sharded = group.scatter(y[order] * 10 - 7)
    np.testing.assert_array_equal(LogReg().fit(group.scatter(X), sharded).classes_, [-7, 3, 13])


def test_features_far_from_zero_go_on_in_float64(rng) -> None:
    group = group_of("reference")
    X, y = samples(rng, 2, np.float32)
    far = X + np.float32(1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogReg(max_iter=500).fit(group.scatter(far), y)
    wanted = reference(far.astype(np.float64) - 1000, y)
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-3)


def test_a_callback_stops_and_sees_each_iteration(rng) -> None:
    group = group_of("reference")
    X, y = samples(rng, 2)
    seen = []
    model = LogReg(callback=lambda now: seen.append(now.loss) or now.iteration == 2, tol=1e-9).fit(group.scatter(X), y)
    assert (len(seen), model.n_iter_, model.stop_reason_) == (2, 2, "callback")
    assert seen == model.loss_curve_


def test_a_model_is_pickled(rng) -> None:
    group = group_of("reference")
    X, y = samples(rng, 2)
    model = LogReg(device=group.devices[0]).fit(group.scatter(X), y)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params()["device"] == "reference:0"


def test_wrong_samples_are_refused(rng) -> None:
    group = group_of("reference")
    X, y = samples(rng, 2)
    sharded = group.scatter(X)
    with pytest.raises(
        ArrayError, match=r"X a sharded array, a stream or a collection of Dask; got ndarray.*gpuprims\.models\.LogReg"
    ):
        LogReg().fit(X, y)
    with pytest.raises(ArgumentError, match="at least two classes"):
        LogReg().fit(sharded, np.zeros(len(y), int))
    with pytest.raises(ArgumentError, match="a label for each sample"):
        LogReg().fit(sharded, y[:-1])
    with pytest.raises(ShapeError, match="cut as X is"):
        LogReg().fit(sharded, group.scatter(y[:-1]))
    with pytest.raises(ShapeError, match="samples in each shard"):
        LogReg().fit(group.scatter(X[:2]), y[:2])
    with pytest.raises(ArgumentError, match="a number from 0 on"):
        LogReg().fit(sharded, y, -np.ones(len(y)))
    with pytest.raises(ArgumentError, match="solver= one of"):
        LogReg(solver="sgd").fit(sharded, y)
    X[450, 2] = np.nan
    with pytest.raises(ArgumentError, match="finite features") as caught:
        LogReg().fit(group.scatter(X), y)
    assert any("shard 2 of 3" in note for note in caught.value.__notes__)


def test_a_shard_that_fails_in_a_fit_ends_it(monkeypatch, rng) -> None:
    group = gpuprims.DeviceGroup(["reference"] * 2)
    X, y = samples(rng, 2)
    from gpuprims.models.logreg.objective import Objective

    real, calls = Objective.loss, []

    def loss(self, weights):
        calls.append(self)
        if len(calls) == 6:
            raise RuntimeError("fell off the bus")
        return real(self, weights)

    monkeypatch.setattr(Objective, "loss", loss)
    with pytest.raises(ShardError, match=r"LogReg\.fit.*fell off the bus"):
        LogReg(tol=1e-9).fit(group.scatter(X), y)
    assert LogReg().fit(group.scatter(X), y).n_iter_ > 1


def test_means_and_deviations_of_parts_join_to_those_of_all(rng) -> None:
    from gpuprims.distributed.passes import Moments
    from gpuprims.distributed.samples import samples_of_shards
    from gpuprims.models.logreg.objective import Objective

    group = gpuprims.DeviceGroup(["reference"] * 3)
    X, weights = np.sort(rng.standard_normal((60, 2)), axis=0) * 9, rng.integers(1, 4, 60).astype(float)
    _, parts = samples_of_shards(group.scatter(X), np.arange(60) % 2, weights)
    work = Moments(wide=False)
    found = [work.run(Objective(part, 1, 0.0, fit_intercept=True)) for part in parts]
    for joined in (work.join(found), work.join([found[0], work.join(found[1:])])):
        total, mean, deviation = joined
        assert total == weights.sum()
        np.testing.assert_allclose(mean, np.average(X, axis=0, weights=weights), rtol=1e-12)
        np.testing.assert_allclose(deviation**2, np.average((X - mean) ** 2, axis=0, weights=weights), rtol=1e-12)


def test_all_parts_have_work_before_one_is_waited_for() -> None:
    happened: list[Any] = []

    class Noted(Pass):
        def start(self, part: Any) -> Any:
            happened.append(("start", part))
            return part

        def read(self, part: Any, begun: Any) -> Any:
            happened.append(("read", part))
            return begun

        def finish(self, part: Any, begun: Any) -> Any:
            happened.append(("finish", part))
            return 10 * begun

        @staticmethod
        def join(found: Sequence[Any]) -> Any:
            return list(found)

    assert Noted(False).run_all([1, 2]) == [10, 20]
    assert happened == [(step, part) for step in ("start", "read", "finish") for part in (1, 2)]
