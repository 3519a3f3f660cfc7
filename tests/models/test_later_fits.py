"""Later fits compile nothing: the first fit compiles what all fits like it run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from device_doubles import CLASSES, double_of, in_use, runtimes
from kernel_cases import as_it_stands
from scipy import sparse

import gpuprims
from gpuprims.models import PCA, LogReg, LogRegBatch, LogRegCV, Prototypes

_GPU = CLASSES[-1]
Work = Callable[[gpuprims.Device, Any, Any, np.ndarray], object]  # device, its samples and labels, samples of the host


def _fit(**how: Any) -> Work:
    return lambda device, X, y, _: LogReg(device=device, max_iter=20, tol=0.01, **how).fit(X, y)


def _predictions(device: gpuprims.Device, X: Any, y: Any, _: np.ndarray) -> None:
    model = LogReg(device=device, tol=0.01).fit(X, y)
    model.predict(X), model.predict_proba(X), model.score(X, y)


def _of_csr(device: gpuprims.Device, _: Any, y: Any, x: np.ndarray) -> None:
    thin = sparse.csr_array(np.where(np.abs(x) > 1, x, 0))
    LogReg(device=device, tol=0.01).fit(thin, device.to_host(y)).predict_proba(thin)


def _of_problems(device: gpuprims.Device, X: Any, y: Any, x: np.ndarray) -> None:
    problems = x.reshape(10, -1, 8)
    LogRegBatch(device=device).fit(problems, problems[..., 0] > 0)


FITS: dict[str, Work] = {"batch": _of_problems}  # the others compile for some seconds
FURTHER: dict[str, Work] = FITS | {
    **{solver: _fit(solver=solver) for solver in ("lbfgs", "newton-cholesky", "sgd", "hogwild", "minibatch", "gd")},
    "l1": _fit(l1_ratio=1.0),
    "elastic net": _fit(l1_ratio=0.5),
    "predictions": _predictions,
    "csr": _of_csr,
    "cv": lambda device, X, y, x: LogRegCV(device=device, Cs=3, cv=3).fit(x, device.to_host(y)),
    "PCA": lambda device, X, y, _: PCA(2, device=device).fit(X).transform(X),
    "Prototypes": lambda device, X, y, _: Prototypes(device=device).fit(X, y).predict(X),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test every fit if the run is whole."""
    works = FURTHER if metafunc.config.getoption("whole") else FITS
    metafunc.parametrize("work", list(works.values()), ids=list(works))


@pytest.fixture(autouse=True)
def unoptimised(monkeypatch: pytest.MonkeyPatch) -> None:
    as_it_stands(monkeypatch)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("runtime", runtimes()[:1])
def test_of_a_gpu(runtime: str, work: Work, rng: np.random.Generator) -> None:
    device = gpuprims.Device(runtime)
    if _GPU.width not in device.capabilities.subgroup_sizes:
        pytest.skip(f"{device.capabilities.name} has no sub-groups of {_GPU.width}")
    x = rng.standard_normal((500, 8)).astype(np.float32)
    y = (x[:, 0] + 0.5 * rng.standard_normal(500) > 0).astype(np.int64)
    there, counts = double_of(device, _GPU.of(device.capabilities)), []
    with in_use(there), mock.patch.object(there.driver, "build", wraps=there.driver.build) as build:
        X, labels = there.asarray(x), there.asarray(y)
        for _ in range(3):
            work(there, X, labels, x)
            counts.append(build.call_count)
    assert counts[0]
    assert counts == counts[:1] * 3
