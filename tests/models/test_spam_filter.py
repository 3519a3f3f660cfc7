"""The spam filter's file."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from gpuprims.errors import ArgumentError, ModelFileError
from gpuprims.models import SpamFilter, train_filter
from gpuprims.models.spam import filter as spam_filter


def test_a_filter_comes_back_from_its_file(mail, tmp_path, device):
    made = train_filter(mail, n_features=200, threshold=0.3, device=device).filter
    made.save(tmp_path / "filter.npz")
    loaded = SpamFilter.load(tmp_path / "filter.npz", device=device)
    assert (loaded.n_features, loaded.threshold, loaded.positive) == (200, 0.3, "spam")
    for ours, kept in zip(loaded.label(mail.texts), made.label(mail.texts), strict=True):
        np.testing.assert_array_equal(ours, kept)
    made.save(tmp_path / "filter.npz")  # over itself
    assert SpamFilter.load(tmp_path / "filter.npz", threshold=0.9).threshold == 0.9
    labels, probabilities = loaded.label([])
    assert (labels.size, probabilities.size) == (0, 0)


def test_a_filter_of_other_features_is_refused(saved, monkeypatch):
    monkeypatch.setattr(spam_filter, "_KIND", "letters")
    with pytest.raises(
        ModelFileError, match=r"got .*filter.npz' \(its features differ from this release's; train it again\)"
    ):
        SpamFilter.load(saved)


def test_a_filter_is_saved_where_it_is_said_or_not_at_all(saved, tmp_path):
    made = SpamFilter.load(saved)
    with pytest.raises(ArgumentError, match=r"a path that ends in \.npz; got .*model\.bin'"):
        made.save(tmp_path / "model.bin")
    with pytest.raises(ArgumentError, match=r"a writable file; got .*model\.npz' \(No such file"):
        made.save(tmp_path / "nowhere" / "model.npz")


def test_the_file_holds_plain_arrays(saved):
    with np.load(saved, allow_pickle=False) as archive:
        assert {"spam_filter", "coef_"} <= set(archive.files)
        assert all(archive[name].dtype != object for name in archive.files)
    assert zipfile.ZipFile(saved).testzip() is None
