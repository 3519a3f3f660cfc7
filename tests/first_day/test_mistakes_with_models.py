"""Mistakes of a first day: LogReg."""

from __future__ import annotations

import numpy as np
import pytest
from mistakes import Mistake, check

from gpuprims import errors
from gpuprims.models import LogReg
from gpuprims.models.checks import NotFittedModelError

X = np.arange(6.0).reshape(2, 3)
F, Y = np.arange(8.0).reshape(4, 2), np.array([0, 1, 0, 1])
FITTED = LogReg("reference").fit(F, Y)

MISTAKES: dict[str, Mistake] = {
    "wrong C": (
        lambda: LogReg(C=-1).fit(F, Y), errors.ArgumentError,
        ("C= a float in the range (0.0, inf]", "-1"),
    ),
    "C a string": (
        lambda: LogReg(C="1").fit(F, Y), errors.ArgumentError,
        ("C= a float in the range (0.0, inf]", "'1'"),
    ),
    "C zero": (
        lambda: LogReg(C=0).fit(F, Y), errors.ArgumentError,
        ("C= a float in the range (0.0, inf]", "0"),
    ),
    "scikit's solver": (
        lambda: LogReg(solver="liblinear").fit(F, Y), errors.ArgumentError,
        ("solver= one of 'auto', 'fista', 'gd', 'hogwild',", "'liblinear'", "did you mean 'lbfgs'?"),
    ),
    "misspelt solver": (
        lambda: LogReg(solver="lbgfs").fit(F, Y), errors.ArgumentError,
        ("solver= one of 'auto', 'fista', 'gd', 'hogwild',", "'lbgfs'", "did you mean 'lbfgs'?"),
    ),
    "learning rate text": (
        lambda: LogReg(learning_rate="fast").fit(F, Y), errors.ArgumentError,
        ("learning_rate= a float in the", "'fast'"),
    ),
    "max_iter zero": (
        lambda: LogReg(max_iter=0).fit(F, Y), errors.ArgumentError,
        ("max_iter= an int in the range [1,", "0"),
    ),
    "max_iter float": (
        lambda: LogReg(max_iter=10.5).fit(F, Y), errors.ArgumentError,
        ("max_iter= an int in the range [1,", "10.5"),
    ),
    "tol negative": (
        lambda: LogReg(tol=-1).fit(F, Y), errors.ArgumentError,
        ("tol= a float in the range [0.0,", "-1"),
    ),
    "threshold above one": (
        lambda: LogReg(threshold=2).fit(F, Y), errors.ArgumentError,
        ("threshold= a float in the range", "2"),
    ),
    "class_weight text": (
        lambda: LogReg(class_weight="balance").fit(F, Y), errors.ArgumentError,
        ("class_weight= a dict, one of", "'balance'", "did you mean 'balanced'?"),
    ),
    "class_weight missing class": (
        lambda: LogReg(class_weight={5: 1}).fit(F, Y), errors.ArgumentError,
        ("class_weight= for classes of y", "none for [0, 1]"),
    ),
    "backend typo": (
        lambda: LogReg(backend="referense").fit(F, Y), errors.UnknownDeviceError,
        ("one of gpu, cpu, cuda, opencl,", "'referense'", "did you mean 'reference'?"),
    ),
    "backend gpu of nothing": (
        lambda: LogReg(backend="numpy").fit(F, Y), errors.UnknownDeviceError,
        ("one of gpu, cpu, cuda, opencl,", "'numpy'", "did you mean 'reference'?"),
    ),
    "backend and device": (
        lambda: LogReg(backend="reference", device="reference").fit(F, Y), errors.ArgumentError,
        ("backend= or device=", "both, 'reference' and"),
    ),
    "backend number": (
        lambda: LogReg(backend=0).fit(F, Y), errors.ArgumentError,
        ("backend= a spec, a Device or None", "0"),
    ),
    "one class": (
        lambda: LogReg().fit(F, np.zeros(4, int)), errors.ArgumentError,
        ("at least two classes", "one class, 0"),
    ),
    "continuous y": (
        lambda: LogReg().fit(F, [0.1, 0.5, 0.3, 0.9]), errors.ArgumentError,
        ("y of classes, integers or texts", "Unknown label type:", "y.astype(int), or bins of y, are classes"),
    ),
    "y too short": (
        lambda: LogReg().fit(F, [0, 1]), errors.ArgumentError,
        ("a label for each sample", "2 for 4 samples"),
    ),
    "y a matrix": (
        lambda: LogReg().fit(F, [[0, 1], [1, 0], [0, 1], [1, 0]]), errors.ArgumentError,
        ("y should be a 1d array, with a label", "shape "),
    ),
    "y None": (
        lambda: LogReg().fit(F, None), errors.ArgumentError,
        ("y should be a 1d array, with a label", "shape "),
    ),
    "y strings of None": (
        lambda: LogReg().fit(F, [None, "a", "b", "a"]), errors.ArgumentError,
        ("y of classes, integers or texts", "Unknown label type:", "y.astype(int), or bins of y, are classes"),
    ),
    "NaN in X": (
        lambda: LogReg().fit(np.where(F > 6, np.nan, F), Y), errors.ArgumentError,
        ("finite features", "NaN in X", "impute or drop these samples"),
    ),
    "inf in X": (
        lambda: LogReg().fit(np.where(F > 6, np.inf, F), Y), errors.ArgumentError,
        ("finite features", "infinity in X", "clip or drop these samples"),
    ),
    "X of one dimension": (
        lambda: LogReg().fit(F[:, 0], Y), errors.ArgumentError,
        ("X of shape (n_samples, n_features)", "a 1D array", "Reshape your data: X.reshape(1, -1) for"),
    ),
    "X of strings": (
        lambda: LogReg().fit([["a", "b"], ["c", "d"]], [0, 1]), errors.ArgumentError,
        ("features that are numbers", "'a'", "encode texts as numbers"),
    ),
    "X empty": (
        lambda: LogReg().fit(np.zeros((0, 2)), []), errors.ArgumentError,
        ("X of one sample and one feature", "0 sample(s)"),
    ),
    "X ragged": (
        lambda: LogReg().fit([[1, 2], [3]], [0, 1]), errors.ArgumentError,
        ("X with rows of one length", "rows of several lengths"),
    ),
    "X complex": (
        lambda: LogReg().fit(F + 1j, Y), errors.ArgumentError,
        ("real features", "complex ones", "Complex data not supported: pass X.real, or both parts as features"),
    ),
    "X masked": (
        lambda: LogReg().fit(np.ma.masked_less(F, 2), Y), errors.ArrayError,
        ("X: arrays without a mask", "a masked array of shape", "pass x.compressed(), which leaves masked"),
    ),
    "predict before fit": (
        lambda: LogReg().predict(F), NotFittedModelError,
        ("a fitted model", "one that is not fitted", "call fit first"),
    ),
    "predict of wrong features": (
        lambda: FITTED.predict(F[:, :1]), errors.ArgumentError,
        ("2 features, as in the fit", "1", "X has 1 features, but LogReg is"),
    ),
    "predict of one sample": (
        lambda: FITTED.predict(F[0]), errors.ArgumentError,
        ("X of shape (n_samples, n_features)", "a 1D array", "Reshape your data: X.reshape(1, -1) for"),
    ),
    "predict of NaN": (
        lambda: FITTED.predict(F * np.nan), errors.ArgumentError,
        ("finite features", "NaN in X", "impute or drop these samples"),
    ),
    "score of short labels": (
        lambda: FITTED.score(F, [0, 1]), errors.ArgumentError,
        ("a label for each sample", "2 for 4 samples"),
    ),
    "sample weights negative": (
        lambda: LogReg().fit(F, Y, sample_weight=[-1, 1, 1, 1]), errors.ArgumentError,
        ("sample_weight= that are not", "negative ones"),
    ),
    "sample weights zero": (
        lambda: LogReg().fit(F, Y, sample_weight=[0, 0, 0, 0]), errors.ArgumentError,
        ("sample_weight= with a positive sum", "zeros alone"),
    ),
    "sample weights short": (
        lambda: LogReg().fit(F, Y, sample_weight=[1, 1]), errors.ArgumentError,
        ("sample_weight= with a number for", "shape (2,)"),
    ),
    "partial_fit without classes": (
        lambda: LogReg(solver="sgd").partial_fit(F, Y), errors.ArgumentError,
        ("classes= in the first call", "none"),
    ),
    "partial_fit of unknown label": (
        lambda: LogReg(solver="sgd").partial_fit(F, Y, classes=[0, 7]), errors.ArgumentError,
        ("labels among 0, 7", "1"),
    ),
    "set_params typo": (
        lambda: LogReg().set_params(c=1), errors.ArgumentError,
        ("parameters among C, backend,", "c", "did you mean 'C'?"),
    ),
    "feature_dtype": (
        lambda: LogReg(feature_dtype="int3").fit(F, Y), errors.ArgumentError,
        ("feature_dtype= one of 'bfloat16', 'float16',", "'int3'", "did you mean 'int8' or 'int16'?"),
    ),
    "unknown label in score": (
        lambda: FITTED.score(F, ["a", "b", "a", "b"]), errors.ArgumentError,
        ("labels of the classes' type", "['a' 'b'] beside [0 1]"),
    ),
    "random_state text": (
        lambda: LogReg(solver="sgd", random_state="x").fit(F, Y), errors.ArgumentError,
        ("random_state= an int in the range", "'x'"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])
