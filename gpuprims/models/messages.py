"""scikit-learn's sentences about wrong arguments, as the rule that was broken, what was got, and what to do.

Some words stay, as ``sklearn.utils.estimator_checks`` looks for them. The cause of an error has the whole sentence.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class _Sentence(NamedTuple):
    pattern: str  # the first one that occurs in a message decides
    got: str  # \1 is the first group of the pattern
    hint: str = ""


_RESHAPE = "Reshape your data: X.reshape(1, -1) for one sample, X.reshape(-1, 1) for one feature"
_IN_ORDER = "X[list(model.feature_names_in_)]"
_BY_FEATURES = r"pass an array of samples by features: each \1"
_REAL = "Complex data not supported: pass X.real, or both parts as features"
# Sentences by the rules that they are about.
_RULES: dict[str, tuple[_Sentence, ...]] = {
    "labels that are not missing": (
        _Sentence("Input y contains NaN", "NaN", "drop samples without a label"),
        _Sentence("value of NA is ambiguous", "NA", "drop samples without a label"),
    ),
    "labels of one type, none missing": (_Sentence("not supported between instances of ('.*' and '.*')", r"\1"),),
    "labels of the classes' type": (_Sentence(r"Mix of label input types .*; Got (.*) and (.*)\.", r"\1 beside \2"),),
    "y of classes, integers or texts": (
        _Sentence(r"Unknown label type: [\w-]+", r"\g<0>", "y.astype(int), or bins of y, are classes"),
        _Sentence("represented as bytes", "bytes", "y.astype(str)"),
    ),
    "y should be a 1d array, with a label for each sample": (
        _Sentence(r"should be a 1d array, got an array of shape (\(.*?\))", r"shape \1"),
    ),
    "as many labels and weights as samples": (_Sentence(r"inconsistent numbers of samples: (\[.*\])", r"\1"),),
    "sample_weight= of finite numbers": (
        _Sentence("Input sample_weight contains (NaN|infinity)", r"\1", "0 leaves a sample out"),
    ),
    "sample_weight= with a number for each sample": (
        _Sentence(r"Sample weights must be 1D array or scalar, got (\d)D", r"an array of \1 dimensions"),
        _Sentence(r"sample_weight\.shape == (\(.*?\)), expected \((\d+),", r"shape \1 for \2 samples"),
    ),
    "sample_weight= that are not negative": (_Sentence("Negative values in data passed to `sample", "negative ones"),),
    "sample_weight= with a positive sum": (_Sentence("one non-zero number", "zeros alone"),),
    "class_weight= for classes of y": (_Sentence("The classes, (.*), are not in class_weight", r"none for \1"),),
    "cv= of at most as many folds as samples of a class": (_Sentence(r"n_splits=(\d+) cannot be", r"\1"),),
    "groups of the samples for this cv=": (
        _Sentence("'groups' parameter should not be None", "none", "fit(X, y, groups=groups) with metadata routing"),
    ),
    "validation_fraction= with a sample of each class": (
        _Sentence(r"(?:test|train)_size = (\d+) should be .*classes = (\d+)", r"\1 for \2 classes"),
    ),
    "two samples of each class, to set one aside": (
        _Sentence(r"Classes with too few members are: \[(.*)\]", r"one of class \1"),
    ),
    "finite features": (
        _Sentence("contains NaN", "NaN in X", "impute or drop these samples"),
        _Sentence(
            r"contains infinity .*dtype\('(\w+)'\)",
            r"infinity in X, or a number too large for \1",
            "clip or drop these samples",
        ),
    ),
    "X of shape (n_samples, n_features)": (
        _Sentence(r"Expected 2D array, got (\w+) array", r"a \1 array", _RESHAPE),
        _Sentence(r"Expected 2D input, got input with shape (\(.*?\))", r"shape \1", _RESHAPE),
        _Sentence("2-dimensional container but got <class '(.*?)'>", r"a \1", "X.to_frame() has one feature"),
        _Sentence(r"Found array with dim (\d+)", r"\1 dimensions"),
    ),
    "X of one sample and one feature or more": (
        _Sentence(r"Found array with (.* while a minimum of \d+ is required by \w+)", r"\1"),
    ),
    "X with rows of one length": (_Sentence("inhomogeneous", "rows of several lengths"),),
    "X that is an array": (_Sentence(r"np\.matrix is not supported", "np.matrix", "pass np.asarray(X)"),),
    "features that are numbers": (
        _Sentence("could not convert string to float: (.*)", r"\1", "encode texts as numbers"),
        _Sentence("(argument must be a string or a real number), not '(.*)'", r"a \2", _BY_FEATURES),
        _Sentence("setting an array element with a sequence", "other objects", "collect() a LazyFrame"),
    ),
    "dense features": (_Sentence("Sparse data was passed", "a sparse matrix", "pass X.toarray()"),),
    "real features": (_Sentence("Complex data not supported", "complex ones", _REAL),),
    r"\2 features, as in the fit": (
        _Sentence(r"X has (\d+) features, but .* is expecting (\d+) features as input", r"\1", r"\g<0>"),
    ),
    "feature names that are all strings": (_Sentence(r"but your input has (\[.*?\])", r"\1", "X.columns.astype(str)"),),
    "the feature names of the fit, in its order": (
        _Sentence(r"unseen at fit time:\n- (.*?)\n.*yet now missing:\n- (.*?)\n", r"\1, and none named \2"),
        _Sentence(r"unseen at fit time:\n- (.*?)\n", r"\1 too", _IN_ORDER),
        _Sentence(r"yet now missing:\n- (.*?)\n", r"none named \1"),
        _Sentence("in the same order as they were in fit", "another order", _IN_ORDER),
    ),
}


def as_rule(message: str, given_rule: str | None = None) -> str:
    """Return a sentence of scikit-learn's as the rule that was broken, what was got, and a hint.

    ``given_rule`` describes the argument that is checked, for sentences that would also fit another one.
    """
    for rule, sentences in _RULES.items():
        for sentence in sentences:
            if match := re.search(sentence.pattern, message, re.DOTALL):
                expand = match.expand
                return _written(expand(rule), expand(sentence.got), expand(sentence.hint), given_rule)
    short = " ".join(message.split())
    short = short if len(short) < 400 else f"{short[:397]}..."
    return _written("arguments that scikit-learn accepts", short, "", given_rule)


def _written(rule: str, got: str, hint: str, given_rule: str | None) -> str:
    if given_rule is not None and given_rule.partition(" ")[0] not in rule:
        rule, hint = given_rule, ""
    return f"{rule}; got {got}" + (f" ({hint})" if hint else "")
