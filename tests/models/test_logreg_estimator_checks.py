"""scikit-learn's checks of estimators, for every solver and penalty of LogReg, and for LogRegCV."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_SAMPLES = "by single samples: a sample of weight 2 is one step, two samples are two"
_STEPS = "steps that shrink do not reach the minimum for weights that differ by ten million"
_ORDER = {f"check_sample_weight_equivalence_on_{form}_data": _SAMPLES for form in ("dense", "sparse")}
_WEIGHTS = {"check_class_weight_classifiers": _STEPS}
# The checks that a solver fails, and why.
KINDS: dict[str, dict[str, str]] = {
    'LogReg("reference")': {},
    'LogRegCV("reference", Cs=1, cv=2, tol=0.01)': {},
    'LogRegCV("reference", Cs=2, cv=2, l1_ratios=(0.5,), tol=0.01)': {},
    'LogReg("reference", penalty="l1", tol=0.01)': {},
    'LogReg("reference", penalty=None)': {},
    'LogReg("reference", l1_ratio=0.8, tol=0.01, solver="newton-cd")': {},
    'LogReg("reference", l1_ratio=0.8, tol=0.01, solver="fista")': {},
    'LogReg("reference", solver="lbfgs")': {},
    'LogReg("reference", solver="newton-cholesky")': {},
    'LogReg("reference", solver="gd", max_iter=50)': {},
    'LogReg("reference", solver="minibatch", max_iter=20)': _WEIGHTS,
    'LogReg("reference", solver="sgd", max_iter=20)': _WEIGHTS | _ORDER,
    'LogReg("reference", solver="hogwild", max_iter=20)': _WEIGHTS | _ORDER,
}
_USUAL = 2


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.rarely] * (place >= _USUAL)) for place, kind in enumerate(KINDS)]
)
def test_all_of_scikit_learns_checks_and_none_skipped(kind: str) -> None:
    program = f"""
import warnings
warnings.simplefilter("ignore")
from sklearn.utils.estimator_checks import check_estimator
from gpuprims.models import LogReg, LogRegCV
found = check_estimator({kind}, on_fail=None, on_skip=None, expected_failed_checks={KINDS[kind]})
for one in found:
    if one["status"] != ("xfail" if one["check_name"] in {list(KINDS[kind])} else "passed"):
        print(one["check_name"], one["status"], repr(one["exception"]))
print(len(found), "checks")
"""
    # Of the standard for arrays, which that check asks SciPy for when it is first imported.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    told = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert len(told) == 1, told
    assert int(told[0].split()[0]) > 50
