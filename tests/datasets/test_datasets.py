"""Generated data of the articles, and files of features and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from gpuprims.datasets import read_features, spam_counts, two_normals
from gpuprims.errors import ArgumentError
from gpuprims.models import LogReg, generated_mail

# two_normals ---------------------------------------------------------------------------------------------------------


def test_points_have_the_distributions_asked_for() -> None:
    means = np.array([[0.0, 1, 2], [3, -1, 0]])
    covariances = np.array([np.diag([1.0, 4, 9]), [[2, 1, 0], [1, 2, 0], [0, 0, 1]]])
    X, y = two_normals(60_000, means=means, covariances=covariances, share=0.3, dtype="f8")
    assert (X.shape, X.dtype.char, y.dtype.char, int(y.sum())) == ((60_000, 3), "d", "i", 18_000)
    for label in (0, 1):
        own = X[y == label]
        np.testing.assert_allclose(own.mean(axis=0), means[label], atol=0.1)
        np.testing.assert_allclose(np.cov(own.T), covariances[label], atol=0.2)
        assert stats.kstest(stats.zscore(own[:, 0]), "norm").pvalue > 1e-3
    assert 0.2 < y[:1000].mean() < 0.4  # in random order


def test_the_shape_of_the_article_and_equal_seeds() -> None:
    X, y = two_normals(means=np.outer([-0.5, 0.5], np.ones(8)))
    assert (X.shape, X.dtype.char) == ((2048, 8), "f")
    again, other = two_normals(means=np.outer([-0.5, 0.5], np.ones(8))), two_normals(100, seed=1)
    np.testing.assert_array_equal(X, again[0])
    assert not np.array_equal(other[0], two_normals(100)[0])
    assert LogReg("reference").fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"samples": 1}, "samples of both labels"),
        ({"samples": 2.5}, "samples= a whole number; got 2.5"),
        ({"share": 0}, "got 0 of 2048 with label 1"),
        ({"means": [1, 2]}, r"means= finite numbers of shape \(2, n_features\); got shape \(2,\)"),
        ({"means": [[np.nan], [1]]}, "finite"),
        (
            {"covariances": np.eye(3)},
            r"covariances= of shape \(2, 2\) or \(2, 2, 2\), as the means; got shape \(3, 3\)",
        ),
        ({"covariances": [[1, 2], [0, 1]]}, "symmetric"),
        ({"covariances": [[1, 2], [2, 1]]}, "positive definite"),
    ],
)
def test_points_that_cannot_be_drawn(how: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=f"two_normals: .*{words}"):
        two_normals(**how)


# spam_counts ---------------------------------------------------------------------------------------------------------


def test_counts_have_the_shares_of_the_thesis() -> None:
    X, y = spam_counts()
    assert (X.shape, X.dtype.char, y.dtype.char) == ((5000, 1024), "f", "i")
    assert y.mean() == 0.368
    np.testing.assert_array_equal(X, np.rint(X))
    lengths = X.sum(axis=1)
    assert (lengths.min(), lengths.max()) == (10, 120)
    model = LogReg("reference", C=0.03).fit(X[:4500], y[:4500])
    assert 0.95 < model.score(X[4500:], y[4500:]) < 1  # the thesis' best error is 3.2 %


def test_counts_are_those_of_the_generated_mail() -> None:
    X, y = spam_counts(200, 300, spam_share=0.25, seed=5)
    mail = generated_mail(200, spam_share=0.25, seed=5)
    np.testing.assert_array_equal(y == 1, mail.labels == "spam")
    for row, words in zip(X, mail.texts, strict=True):
        columns = [(int(word[4:]) * 2654435761 % 2**32) * 300 >> 32 for word in words.split()]
        np.testing.assert_array_equal(row, np.bincount(columns, minlength=300))


def test_counts_that_cannot_be_drawn() -> None:
    for how, words in (((5000, 0), "features= a whole number above 0; got 0"), ((1,), "documents of both labels")):
        with pytest.raises(ArgumentError, match=f"spam_counts: {words}"):
            spam_counts(*how)


# read_features -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("between", ["\n", " ", ",", ", ", "\r\n"])
def test_files_of_numbers_in_any_lines(tmp_path: Path, rng: np.random.Generator, between: str) -> None:
    X = rng.standard_normal((7, 5)).astype("f4")
    X[X < 0] = 0
    y = rng.integers(0, 2, 7)
    (tmp_path / "features").write_text(between.join(map(repr, X.reshape(-1).tolist())) + "\n", newline="")
    (tmp_path / "labels").write_text(between.join(map(str, y)), newline="")
    for asked in (None, 5):
        found = read_features(tmp_path / "features", str(tmp_path / "labels"), n_features=asked)
        np.testing.assert_array_equal(found[0], X)
        np.testing.assert_array_equal(found[1], y)
        assert found[0].dtype.char + found[1].dtype.char == "fi"
    assert read_features(tmp_path / "features", tmp_path / "labels", dtype="f8")[0].dtype == np.float64


@pytest.mark.parametrize(
    ("features", "labels", "words"),
    [
        ("1 2 3", "1 0", "features of 2 samples, one for each label; got 3 numbers"),
        ("1 2 3 4", "", "labels of one sample or more; got none"),
        ("", "1", "features of 1 samples"),
        ("1\n2 x\n3", "1", r"finite numbers; got 'x' in .*features, line 2"),
        ("1\nnan", "1", r"got 'nan' in .*features, line 2"),
        ("1 2", "0.5", "labels that are whole numbers"),
        ("1 2", "99999999999", "labels that are whole numbers"),
        ("1 2", "spam", r"got 'spam' in .*labels, line 1"),
    ],
)
def test_files_of_another_form(tmp_path: Path, features: str, labels: str, words: str) -> None:
    (tmp_path / "features").write_text(features)
    (tmp_path / "labels").write_text(labels)
    with pytest.raises(ArgumentError, match=f"read_features: .*{words}|read_features: {words}"):
        read_features(tmp_path / "features", tmp_path / "labels")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "labels").write_text("1")
    (tmp_path / "features").write_bytes(b"\xff\xfe1")
    with pytest.raises(ArgumentError, match=r"a text file; got .*features', which is not UTF-8"):
        read_features(tmp_path / "features", tmp_path / "labels")
    with pytest.raises(ArgumentError, match=r"a readable file; got .*nothing' \(No such file"):
        read_features(tmp_path / "nothing", tmp_path / "labels")
    (tmp_path / "features").write_text("1 2 3 4")
    with pytest.raises(ArgumentError, match="3 for each sample; got 4 numbers"):
        read_features(tmp_path / "features", tmp_path / "labels", n_features=3)
