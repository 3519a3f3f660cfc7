"""LogReg of Dask arrays and DataFrames: scikit-learn's optimum, one task a worker, and workers that are lost."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from gpuprims.distributed import LogReg
from gpuprims.errors import ArgumentError, ArrayError, ShapeError, ShardError

da = pytest.importorskip("dask.array", reason="Dask is not installed: make test-dask")
HERE = {"device": "reference", "tol": 1e-9}


def samples(rng: np.random.Generator, classes: int = 2, dtype=np.float64, n: int = 601):
    X = rng.standard_normal((n, 5)).astype(dtype)
    scores = X @ rng.standard_normal((5, classes)) + rng.gumbel(size=(n, classes))
    return X, scores.argmax(axis=1)


def reference(X, y, weights=None):
    return LogisticRegression(tol=1e-10, max_iter=9_999).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("classes", [2, 3])
def test_arrays_without_a_client_have_scikit_learns_optimum(classes, rng) -> None:
    X, y = samples(rng, classes)
    weights = rng.integers(0, 3, len(y)).astype(float)
    a = da.from_array(X, chunks=(100, 3))
    for labels in (da.from_array(y, chunks=77), y, y.tolist()):
        model = LogReg(**HERE).fit(a, labels)
        wanted = reference(X, y)
        np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-6)
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        found = getattr(model, method)(a)
        assert isinstance(found, da.Array)
        computed = found.compute()
        assert (found.shape, found.dtype) == (computed.shape, computed.dtype)
        shift = method == "decision_function" and classes == 3  # intercepts have no penalty
        np.testing.assert_allclose(computed, getattr(wanted if not shift else model, method)(X), atol=1e-5)
    assert model.score(a, da.from_array(y, chunks=90)) == wanted.score(X, y) == model.score(a, y)
    assert model.score(a, y, weights) == pytest.approx(wanted.score(X, y, weights))
    solver = "newton-cholesky"
    weighted = LogReg(solver=solver, **HERE).fit(a, y, da.from_array(weights, chunks=50))
    np.testing.assert_allclose(weighted.coef_, reference(X, y, weights).coef_, atol=1e-6)


def test_data_frames_on_workers(client, rng) -> None:
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    X, y = samples(rng, 3)
    names = np.array(["apple", "pear", "plum"])[y]
    frame = pd.DataFrame(X, columns=list("abcde")).assign(fruit=names)
    lazy = dd.from_pandas(frame, npartitions=4, sort=False)
    few = lazy[lazy["a"] > -9]  # of lengths that are not known
    model = LogReg(**HERE).fit(few[list("abcde")], few["fruit"])
    wanted = reference(X, names)
    np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-6)
    assert model.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(model.predict(few[list("abcde")]).compute(), wanted.predict(X))
    assert model.score(few[list("abcde")], few["fruit"]) == pytest.approx(wanted.score(X, names))
    with pytest.raises(ArgumentError, match="feature names"):
        model.predict(few[list("edcba")])
    assert_all_tasks_end(client)


def assert_all_tasks_end(client) -> None:
    def count() -> int:
        from gpuprims.distributed.dask_tasks import _INBOXES

        return len(_INBOXES)

    deadline = time.monotonic() + 30
    while any(client.run(count).values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.run(count).values())


def test_an_interrupt_ends_the_tasks(client, rng) -> None:
    X, y = samples(rng)

    def callback(now) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LogReg(callback=callback, **HERE).fit(da.from_array(X, chunks=(99, 5)), y)
    assert_all_tasks_end(client)


def test_blocks_that_fail_end_the_fit_with_an_error_that_names_the_shard(client, rng) -> None:
    client.wait_for_workers(2)
    X, y = samples(rng)
    X[400, 1] = np.nan
    a = da.from_array(X, chunks=(100, 5))
    with pytest.raises(ArgumentError, match="finite features") as caught:
        LogReg(**HERE).fit(a, y)
    assert any("shard 1 of 2" in note for note in caught.value.__notes__)

    def failing(block):
        raise OSError(5, "no such block")

    with pytest.raises(ShardError, match=r"LogReg\.fit.*shard [01] of 2.*no such block"):
        LogReg(**HERE).fit(a.map_blocks(failing, dtype=a.dtype, meta=np.empty((0, 0))), y)
    assert_all_tasks_end(client)
    assert LogReg(**HERE).fit(da.from_array(samples(rng)[0], chunks=(99, 5)), y).n_iter_ > 1


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
def test_samples_that_differ_when_they_are_computed_again_are_refused(client, rng, tmp_path) -> None:
    X, y = samples(rng)
    client.wait_for_workers(2)

    def labels(block, folder):
        """Return other labels if a block has been computed before."""
        place = Path(folder) / str(block[0])
        again = place.exists()
        place.touch()
        return block % 2 + again

    b = da.from_array(np.arange(len(y)), chunks=100).map_blocks(labels, str(tmp_path), dtype=int, meta=np.empty(0, int))

    def callback(now) -> None:
        if now.iteration == 2:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    with pytest.raises(ArgumentError, match="the same samples when Dask computes them again"):
        LogReg(callback=callback, **HERE).fit(da.from_array(X, chunks=(100, 5)), b)


def test_wrong_samples_are_refused(rng) -> None:
    X, y = samples(rng)
    a = da.from_array(X, chunks=(100, 5))
    unknown = a[a[:, 0] > 0]
    with pytest.raises(ArgumentError, match="y for each of 601 samples; got 600"):
        LogReg().fit(a, da.from_array(y[:-1], chunks=50))
    with pytest.raises(ArgumentError, match="y for each of 601 samples"):
        LogReg().fit(a, y[:-1])
    with pytest.raises(ArgumentError, match="a label for each sample; got None"):
        LogReg().fit(a)
    with pytest.raises(ArrayError, match="y of Dask beside samples in blocks whose lengths are not known"):
        LogReg().fit(unknown, y)
    with pytest.raises(ShapeError, match="X and y in as many blocks"):
        LogReg().fit(unknown, da.from_array(y, chunks=300))
    with pytest.raises(ShapeError, match=r"a label for each sample; got 100 for"):
        LogReg(**HERE).fit(unknown, da.from_array(y, chunks=100))
    with pytest.raises(ShapeError, match=r"X of shape \(n_samples, n_features\)"):
        LogReg().fit(a[:, 0], y)
    with pytest.raises(ArgumentError, match="at least two classes"):
        LogReg(**HERE).fit(a, 0 * y)
    with pytest.raises(ShapeError, match="got no samples"):
        LogReg(**HERE).fit(a[a[:, 0] > 99], da.from_array(y, chunks=100)[a[:, 0] > 99])
    with pytest.raises(ArgumentError, match="not fitted"):
        LogReg().predict(a)


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_killed_in_a_fit_changes_no_bit(client, rng) -> None:
    """The last test here: Dask does not start each killed worker again."""
    client.wait_for_workers(2)
    X, y = samples(rng, dtype=np.float32)
    a, b = da.from_array(X, chunks=(50, 5)), da.from_array(y, chunks=50)
    undisturbed = LogReg(device="reference", tol=1e-6).fit(a, b)
    killed, tasks = [], []

    def known() -> int:
        return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    left = known()  # by tests before

    def callback(now) -> None:
        tasks.append(known())
        if now.iteration == 2:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    model = LogReg(device="reference", tol=1e-6, callback=callback).fit(a, b)
    assert len(killed) == 1
    assert killed[0] not in client.run(os.getpid).values()
    np.testing.assert_array_equal(model.coef_, undisturbed.coef_)
    assert model.loss_curve_ == undisturbed.loss_curve_
    assert tasks[:2] == tasks[:1] * 2  # no graph for an iteration
    assert max(tasks) <= left + 2 * 13 + 2 + 6  # chunks, long tasks, the queue's
