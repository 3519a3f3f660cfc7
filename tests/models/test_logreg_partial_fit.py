"""LogReg.partial_fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from logreg_cases import Data

import gpuprims
from gpuprims.models import LogReg


@pytest.mark.parametrize("data", ["cancer", "iris"])
def test_partial_fits_learn_on(device: gpuprims.Device, request: Any, data: str) -> None:
    X, y = request.getfixturevalue(data)
    model = LogReg(device, batch_size=32, random_state=0)
    for start in [0, 1] * 10:
        model.partial_fit(X[start::2].astype(np.float32), y[start::2], classes=np.unique(y))
    assert model.score(X.astype(np.float32), y) > 0.85
    assert model.n_iter_ == len(model.loss_curve_) == 20


def test_partial_fits_know_their_classes(cancer: Data) -> None:
    X, y = cancer
    model = LogReg("reference")
    with pytest.raises(ValueError, match="classes= in the first call"):
        model.partial_fit(X, y)
    model.partial_fit(X, y, classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (569, 3)
    with pytest.raises(ValueError, match="as in the first call"):
        model.partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"labels among .*; got 7"):
        model.partial_fit(X, np.where(y == 1, 7, 0))
