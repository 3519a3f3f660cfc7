"""Calls of models as users mistype them: scikit-learn refuses them too, and errors say the rule and what was got."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from gpuprims.errors import GpuprimsError
from gpuprims.models import PCA, LogReg, LogRegBatch, Prototypes

X = np.random.default_rng(20261127).standard_normal((60, 4))
Y = np.arange(60) % 2
NAN = np.where(np.arange(240).reshape(60, 4) == 13, np.nan, X)
Fit = Callable[..., Any]


def refused(call: Callable[[], object], words: str) -> None:
    """Check that a call raises the library's error with these words, and warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError), match=words) as raised:
            call()
    assert isinstance(raised.value, GpuprimsError)


FITS: dict[str, tuple[Fit, str]] = {
    "y with NaN": (lambda model: model.fit(X, np.where(Y == 1, np.nan, 0)), "labels that are not missing"),
    "a list with NaN": (lambda model: model.fit(X, [0.0, np.nan] * 30), "labels that are not missing"),
    "complex y": (lambda model: model.fit(X, Y + 1j), "y of classes.*complex128"),
    "weights with NaN": (lambda model: model.fit(X, Y, sample_weight=np.full(60, np.nan)), "sample_weight= of finite"),
    "one dimension of CSR": (lambda model: model.fit(sparse.csr_array(X[:, 0]), Y), "2D"),
    "a row of CSR": (lambda model: model.fit(sparse.csr_array(X), Y).predict(sparse.csr_array(X[0])), "2D"),
    "another number of features": (lambda model: model.fit(X, Y).predict(sparse.csr_array(X[:, :3])), "4 features"),
}


@pytest.mark.parametrize("name", FITS)
def test_what_scikit_learn_refuses_is_refused(name: str) -> None:
    call, words = FITS[name]
    refused(lambda: call(LogReg("reference")), words)
    with pytest.raises((ValueError, TypeError)):
        call(LogisticRegression())


def test_missing_strings_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series(["a", None] * 30, dtype="string")
    refused(lambda: LogReg("reference").fit(X, labels), "labels that are not missing")


def test_other_models() -> None:
    refused(lambda: Prototypes(device="reference").fit(X, np.where(Y == 1, np.nan, 0)), "labels that are not missing")
    refused(lambda: PCA(1, device="reference").fit(sparse.csr_array(X[:, 0])), "[Ss]parse")


def test_strings_of_any_length_are_classes() -> None:
    names = np.array(["no", "perhaps, if nobody minds"])[Y]
    labels = names.astype(np.dtypes.StringDType())
    model = LogReg("reference").fit(X, labels)
    expected = LogReg("reference").fit(X, names)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert model.classes_.tolist() == ["no", "perhaps, if nobody minds"]


def test_batches_refuse_samples_that_are_not_finite() -> None:
    problems, labels = X.reshape(6, 10, 4), X.reshape(6, 10, 4)[..., 0] > 0
    model = LogRegBatch(device="reference").fit(problems, labels)
    for method in (model.predict, model.predict_proba, model.decision_function):
        for given in (NAN.reshape(6, 10, 4), np.where(np.isnan(NAN), np.inf, NAN)):
            refused(lambda method=method, given=given: method(given), "finite features")  # type: ignore[misc]
    model.coef_[2] = np.nan  # as of a problem without a fit
    assert not model.predict(problems)[2].any()
