"""Classes and codes of labels, which are those of np.unique, and features that only the device checks."""

from __future__ import annotations

import sys
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from c_cases import functions_of, use
from kernel_cases import on_device, on_host
from logreg_cases import fit

import gpuprims
from gpuprims.models import LogReg
from gpuprims.models.logreg import distinct_rows
from gpuprims.models.logreg import labels as encoding
from gpuprims.models.logreg import samples as samples_module

TEXTS = np.array(["no", "yes", "", "maybe", "\U0001f600"])
OF_TWO = np.arange(3000) % 7 // 5
LABELS = {
    "bool": np.array([True, False, True]),
    "strided bool": np.array([[True, False], [False, True]])[:, 0],
    "one class": np.array([7, 7]),
    "int8 of both ends": np.array([-128, 127, 0, 127], np.int8),
    "uint64 above int64": np.array([2**64 - 1, 2**64 - 5, 2**64 - 1], np.uint64),
    "int64 at its end": np.array([-(2**63), -(2**63) + 1, -(2**63) + 9]),
    "scattered": np.array([1, 10**12, -4, 1]),
    "gaps": np.array([3, 9, 3, 5]),
    "whole floats": np.array([2.0, 1.0, 2.0]),
    "texts": TEXTS[np.arange(64) % 5],
    "texts of another order of bytes": TEXTS.astype(">U5")[np.arange(64) % 5],
    "Python's strings": TEXTS.astype(object)[np.arange(64) % 5],
    "Python's strings, none twice the same object": np.array(
        ["".join(one) for one in TEXTS[np.arange(64) % 5]], object
    ),
    "few of Python's strings, each an object of its own": np.array(["".join(one) for one in TEXTS[OF_TWO]], object),
    "another of Python's strings behind the first": np.array(["".join(one) for one in TEXTS[[*OF_TWO, 3]]], object),
    "every other of Python's strings": TEXTS.astype(object)[np.arange(128) % 5][::2],
    "more of Python's strings than entries": np.arange(40000).astype(str).astype(object).repeat(3),
    "more texts than entries": np.arange(40000).astype(str),
    "texts whose characters take one, two and four bytes": np.array(
        [first + rest for rest in ("", "12345678", "123456781234567") for first in "a\xe9\u0101\U0001f600"], object
    ).repeat(2),
    "a class derived from Python's strings": np.array(["b", np.str_("a"), "b", "a"], object),
    "bytes": np.array([b"b", b"a"] * 2),
}


@cache
def module_in_c() -> Any:
    return functions_of(encoding.TEXTS)


@pytest.fixture(params=["C", "Python"])
def language(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What finds the kinds of Python's strings."""
    use(monkeypatch, encoding.TEXTS, module_in_c() if request.param == "C" else None)
    return str(request.param)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.usefixtures("language")
def test_classes_are_those_of_unique(kind: str) -> None:
    labels = LABELS[kind]
    values, inverse = np.unique(labels, return_inverse=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of unique classes")
        found, codes = encoding.encoded("LogReg", labels, None)
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(codes, inverse)


def test_texts_and_small_integers_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "unique", None)
    for kind in ("bool", "int8 of both ends", "gaps", "texts", "Python's strings"):
        encoding.encoded("LogReg", np.repeat(LABELS[kind], 3), None)


@pytest.mark.parametrize("kind", ["texts", "Python's strings"])
def test_texts_that_share_an_entry_of_the_table(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct_rows, "_MOST_BITS", 1)
    values, codes = encoding.encoded("LogReg", LABELS[kind], None)
    np.testing.assert_array_equal(values[codes], LABELS[kind])


@pytest.mark.usefixtures("language")
def test_objects_that_are_not_texts_are_refused_as_before() -> None:
    for labels in (np.array(["a", 1, "a"], object), np.array([[1], "a", {}], object), np.empty(3, object)):
        with pytest.raises((ValueError, TypeError)):
            LogReg("reference").fit(np.eye(3), labels)


@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "i8", "f4"])
@pytest.mark.parametrize("values", [[0, 1], [1, 100, 3], [-1e6, 1e6, 5]])
def test_labels_encoded_on_the_device(
    device: gpuprims.Device, rng: np.random.Generator, values: list[Any], dtype: str
) -> None:
    if (dtype in "?u4" and min(values) < 0) or (dtype == "i1" and max(values) > 127):
        pytest.skip("the dtype cannot store them")
    labels = np.array(values).astype(dtype)[rng.integers(0, len(values), 300)]
    found = encoding.encoded_on_device(on_device(device, labels), device, np.dtype(np.float32))
    assert found is not None
    expected, inverse = np.unique(labels, return_inverse=True)
    np.testing.assert_array_equal(found[0], expected)
    assert found[0].dtype == expected.dtype
    np.testing.assert_array_equal(on_host(device, found[1]), inverse)


def test_labels_of_the_host_go_to_a_gpu(
    device: gpuprims.Device, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples_module, "_FEWEST_THERE", 1)
    X, y = rng.standard_normal((200, 3)).astype("f4"), rng.integers(0, 2, 200) * 5
    given = samples_module._labels_there("LogReg", y, 200, device)
    assert (given is None) == (device.capabilities.kind != "gpu")
    np.testing.assert_array_equal(fit(device, X, y).classes_, [0, 5])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("kind", ["plain", "Fortran", "list"])
def test_the_device_finds_features_that_are_not_finite(
    device: gpuprims.Device, rng: np.random.Generator, bad: float, dtype: str, kind: str
) -> None:
    if dtype == "f8" and not device.capabilities.fp64:
        pytest.skip("the device has no float64")
    X, y = rng.standard_normal((90, 4)).astype(dtype), np.arange(90) % 2
    model = fit(device, X, y)
    X[80, 3] = bad
    given = {"plain": X, "Fortran": np.asfortranarray(X), "list": X.tolist()}[kind]
    for call in (lambda: fit(device, given, y), lambda: model.predict(given)):
        with pytest.raises(ValueError, match=r"LogReg: finite features; got (NaN|infinity)"):
            call()


def test_plain_features_forget_names_and_keep_their_number(device: gpuprims.Device) -> None:
    X, y = np.eye(4, dtype="f4"), [0, 1, 0, 1]
    model = LogReg(device)
    model.feature_names_in_ = np.array(list("abcd"), object)
    model.fit(X, y)
    assert model.n_features_in_ == 4
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(ValueError, match="4 features, as in the fit; got 3"):
        model.predict(X[:, :3].copy())


def test_valid_parameters_are_checked_once() -> None:
    model, X, y = LogReg("reference"), np.eye(4), [0, 1, 0, 1]
    model.fit(X, y)
    for wrong in ({"C": -1.0}, {"max_iter": 1.0}, {"tol": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            LogReg("reference", **wrong).fit(X, y)


LISTS: dict[str, Any] = {
    "a list": TEXTS[np.arange(64) % 5].tolist(),
    "a tuple": tuple(TEXTS[np.arange(64) % 5].tolist()),
    "NumPy's strings": list(TEXTS[np.arange(64) % 5]),
    "strings of both": [*TEXTS.tolist(), *TEXTS] * 4,
    "wide strings, narrow ones and none": ["\U0001f600", "a", "\u20ac", "", "a\U0001f600"] * 9,
}


@pytest.mark.parametrize("kind", LISTS)
def test_lists_are_encoded_as_arrays(kind: str, language: str) -> None:
    labels = LISTS[kind]
    values, inverse = np.unique(np.asarray(labels), return_inverse=True)
    found = encoding.encoded_texts(labels)
    if language == "Python" and kind in ("NumPy's strings", "strings of both"):
        assert found is None
    else:
        assert found is not None
        assert found[0].dtype == values.dtype
        np.testing.assert_array_equal(found[0], values)
        np.testing.assert_array_equal(found[1], inverse)


@pytest.mark.usefixtures("language")
def test_lists_of_others_become_arrays() -> None:
    class Text(str):
        __slots__ = ()

    for labels in (
        [],
        ["a", 1],
        ["a", None],
        ["a", ["b"]],
        [1, "a"],
        ["a", Text("a")],
        np.array(["a"]),
        "ab",
        ["a\0", "a"],
    ):
        assert encoding.encoded_texts(labels) is None
    with pytest.raises(ValueError, match="LogReg: a label for each sample; got 8 for 9 samples"):
        LogReg("reference").fit(np.eye(9), ["a", "b"] * 4)
    with pytest.raises(ValueError, match="at least two classes; got one class, 'a'"):
        LogReg("reference").fit(np.eye(4), ["a"] * 4)
    with pytest.warns(UserWarning, match="number of unique classes"):
        LogReg("reference").fit(np.eye(30), [*map(str, range(30))])


def test_lists_in_c_own_nothing_after_the_call(language: str) -> None:
    if language != "C":
        pytest.skip("counts references of the C module")
    labels = ["".join(["a", str(k % 3)]) for k in range(300)]
    before = [sys.getrefcount(one) for one in labels]
    encoding.TEXTS.calls.kinds(labels)
    encoding.TEXTS.calls.kinds(tuple(labels))
    assert [sys.getrefcount(one) for one in labels] == before
    with pytest.raises(TypeError, match="a list, a tuple, or a contiguous array"):
        encoding.TEXTS.calls.kinds("abc")


@pytest.mark.parametrize("how", [{}, {"class_weight": "balanced"}])
def test_lists_of_strings_have_classes_of_strings(rng: np.random.Generator, how: dict[str, Any]) -> None:
    X, y = rng.standard_normal((40, 2)), TEXTS[[0, 1, 3]][rng.integers(0, 3, 40)]
    listed = LogReg("reference", **how).fit(X, y.tolist())
    given = LogReg("reference", **how).fit(X, y)
    assert listed.classes_.dtype.kind == "U"
    np.testing.assert_array_equal(listed.classes_, given.classes_)
    np.testing.assert_array_equal(listed.coef_, given.coef_)
    np.testing.assert_array_equal(listed.predict(X), given.predict(X))
    mixed = LogReg("reference").fit(X, ["a", 1] * 20)
    np.testing.assert_array_equal(mixed.classes_, ["1", "a"])
