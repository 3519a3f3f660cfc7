"""LogReg at the levels "device" and "order": coef_ to the last bit, on each device and on the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gpuprims
from gpuprims.errors import NoVariantError
from gpuprims.models import LogReg, host_algebra

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SOLVERS = ("gd", "lbfgs", "newton-cholesky", "minibatch", "sgd")
FORMS = ("two", "float64", "three", "sparse")


def samples(form: str) -> tuple[Any, np.ndarray]:
    """Return samples of a form, and labels."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((250, 6)).astype("f8" if form == "float64" else "f4")
    y = (X[:, 0] + rng.logistic(size=250) > 0).astype(int)
    if form == "three":
        y = np.digitize(X[:, 1] + rng.logistic(size=250), [-1, 1])
    return (sparse.csr_array(X * (X > 0)) if form == "sparse" else X), y


def fitted(device: Any, form: str, **how: Any) -> LogReg:
    return LogReg(device, random_state=0, max_iter=7, **how).fit(*samples(form))


def bits(model: LogReg) -> tuple[bytes, ...]:
    return model.coef_.tobytes(), model.intercept_.tobytes(), np.array(model.loss_curve_).tobytes()


@pytest.mark.whole  # fingerprints have fits of few kernels, and those of the reference
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_same_bits_on_every_device(device: gpuprims.Device, solver: str, form: str) -> None:
    if not device.capabilities.fp64:
        pytest.skip("needs float64")
    if (solver, form) == ("sgd", "three"):
        pytest.skip("sgd takes two classes")
    got, expected = (fitted(one, form, solver=solver, determinism="device") for one in (device, "reference"))
    assert bits(got) == bits(expected)
    default = fitted(device, form, solver=solver)
    # A rate that a gradient's curvature decides comes from another direction.
    np.testing.assert_allclose(got.coef_, default.coef_, rtol=5e-2, atol=1e-2)
    X, _ = samples(form)
    assert got.predict_proba(X).tobytes() == expected.predict_proba(X).tobytes()


@pytest.mark.parametrize(
    ("solver", "form"),
    [("gd", "two"), ("lbfgs", "two"), ("newton-cholesky", "two"), ("gd", "sparse"), ("lbfgs", "sparse")],
)
def test_the_order_of_samples_changes_no_bit(solver: str, form: str) -> None:
    X, y = samples(form)
    weights = np.random.default_rng(2).uniform(0.5, 2, len(y))
    shuffled = np.random.default_rng(3).permutation(len(y))
    with gpuprims.use_determinism("order"):
        one, other = (
            LogReg("reference", solver=solver, max_iter=7).fit(X[rows], y[rows], sample_weight=weights[rows])
            for rows in (np.arange(len(y)), shuffled)
        )
    assert bits(one) == bits(other)
    default = LogReg("reference", solver=solver, max_iter=7).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(one.coef_, default.coef_, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize(
    ("how", "level"),
    [
        ({"l1_ratio": 0.5}, "device"),
        ({"solver": "hogwild"}, "device"),
        ({"solver": "sgd"}, "order"),
        ({"solver": "minibatch"}, "order"),
    ],
)
def test_what_cannot_have_the_level_raises(how: dict[str, Any], level: str) -> None:
    below = "run" if level == "device" else "device"
    advice = f"got '{level}' .determinism='{below}', or (l1_ratio=0|solver=\"gd\")"
    with pytest.raises(NoVariantError, match=advice):
        fitted("reference", "two", determinism=level, **how)
    fitted("reference", "two", determinism=below, **how)
    with gpuprims.use_determinism("device"), pytest.raises(NoVariantError, match="or a fit for each C"):
        LogReg("reference").path(*samples("two"), Cs=[1.0, 2.0])


def test_equations_of_features_that_depend_on_each_other() -> None:
    rng = np.random.default_rng(4)
    factor = rng.standard_normal((9, 5))
    with gpuprims.use_determinism("device"):
        matrix, right = factor.T @ factor, rng.standard_normal(5)
        np.testing.assert_allclose(matrix @ host_algebra.solved(matrix, right), right, rtol=1e-9)
        twice = np.hstack([factor, factor[:, :2]])
        right = twice.T @ rng.standard_normal(9)
        np.testing.assert_allclose(twice.T @ twice @ host_algebra.solved(twice.T @ twice, right), right, rtol=1e-9)
        assert host_algebra.total(np.array([1e16, 1.0, -1e16])) == 1
        assert np.isnan(host_algebra.total(np.array([np.inf, -np.inf])))
