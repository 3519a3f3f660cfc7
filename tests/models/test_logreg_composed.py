"""LogReg(composed=True) fits by map, reduce and csr alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_cases import on_device
from logreg_cases import fit
from scipy import sparse

import gpuprims
from gpuprims.errors import ArgumentError
from gpuprims.models import LogReg
from gpuprims.profiling import profile

FORMS = pytest.mark.parametrize("form", ["two", "three", "sparse", "int8", "weighted", "on the device"])
# Each solver with its share of magnitudes in the penalty.
SOLVERS = {
    "auto": 0, "lbfgs": 0, "newton-cholesky": 0, "gd": 0, "minibatch": 0, "newton-cd": 1, "fista": 1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profile, "copy_rate", lambda device: 1e9)


def fitted(device: gpuprims.Device, form: str, **how: Any) -> tuple[LogReg, Counter[str]]:
    """Return a model of samples of a form, and how often its fit launched kernels of each primitive."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((900, 5)).astype("f4")
    y = (X[:, 0] + rng.logistic(size=900) > 0).astype(int)
    given: Any = X
    how |= {"feature_dtype": "int8"} if form == "int8" else {}
    if form == "three":
        y = np.digitize(X[:, 1] + rng.logistic(size=900), [-1, 1])
    if form == "sparse":
        given = sparse.csr_array(X * (X > 0))
    if form == "on the device":
        given = on_device(device, X)
    weight = np.linspace(0, 2, 900) if form == "weighted" else None
    with gpuprims.profile() as seen:
        model = fit(device, given, y, sample_weight=weight, max_iter=8, batch_size=300, random_state=0, **how)
    return model, Counter(launch.kernel.partition("/")[0] for launch in seen.launches)


@FORMS
@pytest.mark.parametrize("solver", SOLVERS)
def test_launches_by_primitive(device: gpuprims.Device, solver: str, form: str) -> None:
    how: dict[str, Any] = {"solver": solver, "l1_ratio": SOLVERS[solver], "C": 0.5}
    model, launches = fitted(device, form, composed=True, **how)
    wanted = {"map", "reduce", "csr"} if form == "sparse" else {"map", "reduce"}
    assert set(launches) == wanted, launches
    fused, of_fused = fitted(device, form, **how)
    assert set(of_fused) != wanted or form in ("three", "sparse", "int8"), of_fused
    # The one launch of "auto" ends by another rule.
    np.testing.assert_allclose(model.coef_, fused.coef_, rtol=1e-2, atol=2e-3 if solver == "auto" else 2e-4)
    assert model.stop_reason_ == fused.stop_reason_ or solver in ("auto", "lbfgs")


def test_solvers_that_are_kernels_are_refused() -> None:
    for solver in ("sgd", "hogwild"):
        with pytest.raises(ArgumentError, match=rf"composed=False with solver='{solver}'.*got True \(use 'lbfgs'"):
            LogReg("reference", solver=solver, composed=True).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ArgumentError, match="composed= True or False; got 'yes'"):
        LogReg("reference", composed="yes").fit([[0.0], [1.0]], [0, 1])  # type: ignore[arg-type]


def test_paths_partial_fits_and_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), np.arange(200) % 2
    model, peer = LogReg("reference", composed=True), LogReg("reference")
    np.testing.assert_allclose(model.path(X, y, [0.1, 1]).coef, peer.path(X, y, [0.1, 1]).coef, atol=1e-3)
    once = [one.partial_fit(X, y, classes=[0, 1]) for one in (clone_of(model), clone_of(peer))]
    np.testing.assert_allclose(once[0].coef_, once[1].coef_, atol=1e-2)
    model.fit(X, y).save(tmp_path / "model.npz")
    assert LogReg.load(tmp_path / "model.npz").composed is True


def clone_of(model: LogReg) -> LogReg:
    return LogReg(**model.get_params()).set_params(random_state=0)
