"""Samples of more than 2^31 elements, on GPUs with the memory for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import on_host

import gpuprims
from gpuprims.models import LogReg

ROWS, FEATURES, PERIOD = 2**26 + 5, 33, 4099
# Bytes of the samples and of their scores, products and flows.
NEEDED = 24 << 30

# Rows of the huge samples repeat those of few, so weights for these give the same objective.
Huge = tuple[gpuprims.Device, Any, Any, np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture
def huge(device: gpuprims.Device) -> Huge:
    if device.capabilities.kind != "gpu" or device.capabilities.memory < 2 * NEEDED:
        pytest.skip(f"a GPU with {2 * NEEDED >> 30} GiB is needed")
    rng = np.random.default_rng(24)
    few = rng.standard_normal((PERIOD, FEATURES)).astype(np.float32)
    # Labels of the rows that begin past element 2^31 are drawn anew.
    scores, edge = few @ rng.standard_normal(FEATURES) / 6, 2**31 // FEATURES + 1
    kinds = [(scores + rng.logistic(size=PERIOD) > shift) for shift in (0, 1.5)]
    places = np.arange(ROWS) % PERIOD
    labels = np.where(np.arange(ROWS) < edge, kinds[0][places], kinds[1][places])
    counts = [np.bincount(places[some], minlength=PERIOD) for some in (slice(edge), slice(edge, None))]
    X = gpuprims.take(device.asarray(few), device.asarray(places.astype(np.int32)), axis=0, device=device)
    return device, X, device.asarray(labels.astype(np.uint8)), few, np.concatenate(kinds), np.concatenate(counts)


@pytest.mark.parametrize("how", [{"solver": "lbfgs"}, {"solver": "newton-cholesky"}, {"l1_ratio": 1, "C": 1e-6}])
def test_fit_of_more_than_2_to_the_31_elements(huge: Huge, how: dict[str, Any]) -> None:
    device, X, y, few, labels, counts = huge
    assert X.size > 2**31
    model = LogReg(device, tol=1e-6, **how).fit(X, y)
    peer = LogReg("reference", tol=1e-6, **how).fit(np.vstack([few, few]).astype(float), labels, sample_weight=counts)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=2e-4)
    assert model.loss_curve_[-1] == pytest.approx(peer.loss_curve_[-1], rel=1e-5)
    expected = few @ model.coef_[0] + model.intercept_[0]
    scores = on_host(device, model.decision_function(X))
    np.testing.assert_allclose(scores[-PERIOD:], np.roll(expected, -(ROWS % PERIOD)), atol=1e-4)
