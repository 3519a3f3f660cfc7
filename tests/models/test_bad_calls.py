"""Calls of models as users mistype them: scikit-learn refuses them too, and errors say the rule and what was got."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GroupKFold

from gpuprims.errors import GpuprimsError
from gpuprims.models import (
    PCA,
    LogReg,
    LogRegBatch,
    LogRegCV,
    MatchingNet,
    Prototypes,
    Rates,
    SpamFilter,
    generated_mail,
    train_filter,
)  # fmt: skip

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
    "one dimension of CSR": (lambda model: model.fit(sparse.csr_array(X[:, 0]), Y), r"got shape \(60,\)"),
    "a row of CSR": (
        lambda model: model.fit(sparse.csr_array(X), Y).predict(sparse.csr_array(X[0])),
        r"got shape \(4,\)",
    ),
    "weights in a column": (lambda model: model.fit(X, Y, sample_weight=np.ones((60, 1))), "a number for each sample"),
    "weights of texts": (lambda model: model.fit(X, Y, sample_weight=["a"] * 60), "sample_weight= with a number"),
    "three dimensions": (lambda model: model.fit(X[None], Y), r"X of shape \(n_samples, n_features\)"),
    "a matrix of NumPy's": (lambda model: model.fit(X.view(np.matrix), Y), "X that is an array"),
    "labels of bytes": (lambda model: model.fit(X, np.array([b"no", b"yes"])[Y]), "y of classes"),
    "dates": (lambda model: model.fit(X.astype("M8[s]"), Y).predict(X.astype("M8[s]")), "features that are numbers"),
    "one class": (lambda model: model.fit(X, Y * 0), "at least two classes"),
    "texts and None": (lambda model: model.fit(X, ["no", None] * 30), "labels of one type, none missing; got 'NoneT"),
    "class weights of texts": (
        lambda model: model.set_params(class_weight={0: "a", 1: 1}).fit(X, Y),
        "class_weight= of a number for each class; got 'a'",
    ),
    "a warm start of other features": (
        lambda model: model.set_params(warm_start=True).fit(X, Y).fit(X[:, :3], Y),
        r"weights of shape \(1, 4\).*got other classes or features, of shape \(1, 3\)",
    ),
    "a warm start of other classes": (
        lambda model: model.set_params(warm_start=True).fit(X, Y).fit(X, np.arange(60) % 3),
        "got other classes or features",
    ),
    "another number of features": (lambda model: model.fit(X, Y).predict(sparse.csr_array(X[:, :3])), "4 features"),
}


@pytest.mark.parametrize("name", FITS)
def test_what_scikit_learn_refuses_is_refused(name: str) -> None:
    call, words = FITS[name]
    refused(lambda: call(LogReg("reference")), words)
    with pytest.raises((ValueError, TypeError)):
        call(LogisticRegression())


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_class_weights_are_finite_and_not_negative(weight: float) -> None:
    refused(lambda: LogReg("reference", class_weight={0: weight, 1: 1.0}).fit(X, Y), "class_weight= of finite numbers")


def test_samples_to_set_aside() -> None:
    model = LogReg("reference", target_error=0.1, validation_fraction=0.01)
    refused(lambda: model.fit(X, Y), "LogReg: validation_fraction= with a sample of each class; got 1 for 2 classes")
    refused(lambda: model.fit(X, np.arange(60) == 0), "LogReg: two samples of each class.*; got one of class 1")


def test_scores_that_do_not_suit() -> None:
    model = LogRegCV("reference", scoring="f1", cv=2, Cs=1)
    refused(lambda: model.fit(X, np.arange(60) % 3), "LogRegCV: scoring= that suits the labels; got Target is multicl")


def test_balanced_classes_of_a_partial_fit() -> None:
    model = LogReg("reference", class_weight="balanced")
    refused(lambda: model.partial_fit(X, Y, classes=[0, 1]), "LogReg.partial_fit: class_weight=")
    with pytest.raises(ValueError, match="balanced"):
        SGDClassifier(class_weight="balanced").partial_fit(X, Y, classes=[0, 1])


REFUSED: dict[str, Fit] = {
    "NaN": lambda model: model.fit(NAN[:, :3], Y),
    "no classes": lambda model: model.fit(X[:, :3], X[:, 0]),
    "one class": lambda model: model.fit(X[:, :3], Y * 0),
    "a solver of two classes": lambda model: model.set_params(solver="sgd").fit(X[:, :3], np.arange(60) % 3),
    "sparse NaN": lambda model: model.fit(sparse.csr_array(NAN[:, :3]), Y),
    "no magnitudes": lambda model: model.set_params(solver="fista").fit(X[:, :3], Y + 5),
    "weights": lambda model: model.fit(X[:, :3], Y + 5, sample_weight=-np.ones(60)),
    "a path": lambda model: model.path(X[:, :3], Y + 5, [1.0, 2.0], sample_weight=-np.ones(60)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_fit_leaves_the_model_as_it_was(name: str) -> None:
    unfitted, fitted = LogReg("reference"), LogReg("reference").fit(X, Y)
    expected = fitted.predict_proba(X)
    for model in (unfitted, fitted):
        with pytest.raises((ValueError, TypeError)):
            REFUSED[name](model)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected)
    assert fitted.classes_.tolist() == [0, 1]
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


OTHERS: dict[str, Callable[[], Any]] = {
    "PCA": lambda: PCA(1, device="reference"),
    "LogRegCV": lambda: LogRegCV("reference", Cs=2, cv=2),
    "Prototypes": lambda: Prototypes(device="reference"),
    "MatchingNet": lambda: MatchingNet(device="reference"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_refused_fit_leaves_other_models_as_they_were(name: str) -> None:
    model = OTHERS[name]().fit(X, Y)
    use = model.transform if name == "PCA" else model.predict_proba
    expected = use(X)
    refused(lambda: model.fit(NAN[:, :3], Y + 5), "finite features")
    np.testing.assert_array_equal(use(X), expected)


def test_a_path_alone_does_not_fit_a_model() -> None:
    model = LogReg("reference")
    model.path(X, Y, [1.0])
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_missing_strings_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series(["a", None] * 30, dtype="string")
    refused(lambda: LogReg("reference").fit(X, labels), "labels that are not missing")


def test_other_models() -> None:
    refused(lambda: LogRegCV("reference", Cs=[1.0, "a"]).fit(X, Y), "Cs= and l1_ratios= of numbers")
    refused(lambda: LogReg("reference").path(X, Y, ["a"]), "Cs= a sequence of numbers")
    refused(lambda: LogRegCV("reference", cv=40).fit(X, Y), "cv= of at most as many folds")
    refused(lambda: LogRegCV(epochs=3), "LogRegCV: keywords among")
    refused(lambda: LogRegBatch("reference").fit(X, Y, sample_weight=["a"] * 60), "sample_weight= with a number")
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


MAIL = generated_mail(100)
SPAM: dict[str, tuple[Callable[[], object], str]] = {
    "documents": (lambda: generated_mail("many"), "mail: a number of documents and a share of spam; got 'many'"),
    "seed of mail": (lambda: generated_mail(10, seed=-1), "mail: seed= a whole number from 0 on; got -1"),
    "threshold": (lambda: train_filter(MAIL, threshold="half"), "spam: a threshold from 0 to 1; got 'half'"),
    "seed": (lambda: train_filter(MAIL, seed="a"), r"spam: a seed from 0 to 2\^32 - 1; got 'a'"),
    "share": (lambda: train_filter(MAIL, test_share="a"), "spam: a test share from 0 to 1.*; got 'a' of 100"),
    "options": (lambda: train_filter(MAIL, options={"word_pairs": True}), "spam: options= a TextOptions; got {'word_"),
    "estimator": (lambda: train_filter(MAIL, estimator=PCA(2)), "spam: estimator= a classifier with a parameter C"),
    "mail": (lambda: train_filter(["text"]), r"spam: mail, a Mail of labels and texts; got \['text'\]"),
    "model": (
        lambda: SpamFilter(LogReg("reference").fit(X, Y), 4, 0.5),
        "spam: a model of the label 'spam' and one other; got 0 and 1",
    ),
    "no fit": (lambda: SpamFilter(LogReg(), 4, 0.5), "and one other; got none, as it is not fitted"),
    "path": (lambda: LogReg("reference").fit(X, Y).save(3), r"LogReg.save: a path that ends in \.npz; got 3"),
    "positive": (lambda: Rates.of([1], [1], positive=[1]), r"rates: positive= a label; got \[1\]"),
    "groups": (
        lambda: LogRegCV("reference", cv=GroupKFold(3)).fit(X, Y),
        "LogRegCV: groups of the samples for this cv=; got none",
    ),
}


@pytest.mark.parametrize("name", SPAM)
def test_wrong_arguments_of_filters_and_files(name: str) -> None:
    refused(*SPAM[name])
