"""Fixtures of the models' tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import model_files as made
import numpy as np
import pytest
from logreg_cases import Data
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from gpuprims.models import generated_mail, train_filter
from gpuprims.models.spam import filter as spam_filter
from gpuprims.models.spam import training as spam_training


@pytest.fixture(scope="module")
def cancer() -> Data:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def iris() -> Data:
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    made.saved_model(folder / "model.npz")
    made.saved_filter(folder / "filter.npz")
    return folder


@pytest.fixture
def model(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(good / "model.npz", tmp_path))


@pytest.fixture
def spam_file(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(good / "filter.npz", tmp_path))


class Peer(LogisticRegression):
    """scikit-learn's logistic regression by its fastest solver, with LogReg's parameters."""

    def __init__(self, backend=None, *, C=1.0, max_iter=100):
        self.backend = backend
        super().__init__(C=C, max_iter=max_iter, solver="liblinear")


@pytest.fixture
def peer(monkeypatch):
    """Filters are trained by scikit-learn, where what is tested is not the solver."""
    for module in (spam_filter, spam_training):
        monkeypatch.setattr(module, "LogReg", Peer)


@pytest.fixture(params=["scikit-learn", "LogReg"])
def either(request):
    """Filters are trained by scikit-learn, and by LogReg."""
    if request.param == "scikit-learn":
        request.getfixturevalue("peer")


@pytest.fixture(scope="module")
def mail():
    return generated_mail(300)


@pytest.fixture(scope="module")
def written_once(mail, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "filter.npz"
    train_filter(mail, device="reference").filter.save(path)
    return path


@pytest.fixture
def saved(written_once, tmp_path):
    return shutil.copy(written_once, tmp_path)
