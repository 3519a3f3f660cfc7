"""Model files: wrong members are refused, and writes are atomic."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import model_files as made
import numpy as np
import pytest
from model_files import refused
from sklearn.linear_model import LogisticRegression

from gpuprims import errors
from gpuprims.errors import ArgumentError, ModelFileError
from gpuprims.models import LogReg, SpamFilter, archives
from gpuprims.models.spam import filter as spam_filter

Change = Callable[[made.Members], made.Members]


def test_the_exception_is_the_librarys_and_a_value_error() -> None:
    assert issubclass(ModelFileError, errors.GpuprimsError)
    assert issubclass(ModelFileError, ValueError)


def without(name: str) -> Change:
    return lambda members: {own: data for own, data in members.items() if own != name}


def put(name: str, array: Any) -> Change:
    return lambda members: {**members, f"{name}.npy": made.as_npy(np.asarray(array))}


def header(name: str, before: bytes, after: bytes) -> Change:
    """Say something else in a member's header, in as many bytes."""
    return lambda members: {**members, name: members[name].replace(before, after.ljust(len(before)), 1)}


def tells(**changes: Any) -> Change:
    return lambda members: made.telling(members, changes)


def parameters(**changes: Any) -> Change:
    return lambda members: made.telling(members, {"parameters": {**made.told(members)["parameters"], **changes}})


MEMBERS: dict[str, tuple[Change, str]] = {
    "no weights": (without("coef_.npy"), "it has no coef_"),
    "no text": (without("model.npy"), "it has no model"),
    "a member more": (put("more", 1.0), "an unknown member, .'more.npy'"),
    "an object": (header("classes_.npy", b"'<i8'", b"'|O' "), "classes_ is not an array"),
    "bytes that are no array": (lambda members: {**members, "coef_.npy": b"\x93NUMPY"}, "coef_ is not an array"),
    "another format of arrays": (header("coef_.npy", b"\x01\x00", b"\x09\x00"), "coef_ is not an array"),
    "a header that has no end": (header("coef_.npy", b"v\x00", b"\xff\xff"), "coef_ is not an array"),
    "code in a header": (header("coef_.npy", b"False", b"[1]*9"), "coef_ is not an array"),
    "a shape of more than there is": (header("coef_.npy", b"(3, 4), }    ", b"(3, 99999), }"), "coef_ is .* in 96"),
    "a wrapping shape": (header("coef_.npy", b"(3, 4), }" + b" " * 20, b"(3, 6148914691236517205), }"), "not an array"),
    "a shape of less than there is": (header("coef_.npy", b"(3, 4)", b"(3, 3)"), "coef_ is .* in 96 bytes"),
    "a negative shape": (header("coef_.npy", b"(3, 4), } ", b"(-3, -4), }"), "coef_ is not an array"),
    "three axes": (put("coef_", np.zeros((3, 4, 1))), "coef_ is not an array"),
    "an element of no bytes": (header("classes_.npy", b"'<i8'", b"'<U0'"), "classes_ is <U0 of"),
    "a dtype that is none": (header("coef_.npy", b"'<f8'", b"'<f3'"), "f3"),
    "weights that are integers": (put("coef_", np.ones((3, 4), int)), "weights of int64"),
    "weights of two dtypes": (put("intercept_", np.ones(3, "f4")), "weights of float64 and float32"),
    "weights with NaN": (put("coef_", np.full((3, 4), np.nan)), "coef_ has NaN or infinity"),
    "weights with infinity": (put("intercept_", [0.0, np.inf, 0.0]), "intercept_ has NaN or infinity"),
    "seven rows for three classes": (put("coef_", np.zeros((7, 4))), r"coef_ of shape \(7, 4\) for 3 classes"),
    "weights of no features": (put("coef_", np.zeros((3, 0))), r"coef_ of shape \(3, 0\)"),
    "weights in one axis": (put("coef_", np.zeros(3)), r"coef_ of shape \(3,\)"),
    "two constants for three classes": (put("intercept_", np.zeros(2)), r"intercept_ of shape \(2,\) for 3"),
    "one class": (put("classes_", [1]), r"classes_ of shape \(1,\)"),
    "classes in a table": (put("classes_", [[0, 1, 2]]), r"classes_ of shape \(1, 3\)"),
    "a class twice": (put("classes_", [0, 1, 1]), "not unique and sorted"),
    "classes in another order": (put("classes_", [0, 2, 1]), "not unique and sorted"),
    "a class that is NaN": (put("classes_", [0.0, 1.0, np.nan]), "classes_ has NaN"),
    "no character": (put("classes_", np.array([1, 2, 0x110000], "u4").view("U1")), "points that are not characters"),
    "a bool that is two": (
        lambda members: {
            **put("coef_", np.zeros((1, 4)))(put("intercept_", [0.0])(members)),
            "classes_.npy": made.as_npy(np.array([False, True]))[:-1] + b"\2",
        }, "neither 0 nor 1",
    ),
    "text that is no JSON": (put("model", "hello"), "Expecting value"),
    "text that is no object": (put("model", "[1]"), "not a JSON object"),
    "JSON without end": (put("model", "[" * 100_000), "recursion"),
    "a number of 5,000 digits": (put("model", "1" * 5000), "digits"),
    "two texts": (put("model", ["{}", "{}"]), "model is not one string"),
    "a number for a text": (put("model", 1.0), "model is not one string"),
    "a newer format": (tells(format=2), "format 2; this release reads 1"),
    "an older format": (tells(format=0), "format 0; this release reads 1"),
    "a format that is true": (tells(format=True), "format True"),
    "no format": (tells(format=...), "format None"),
    "a key more": (tells(more=1), "has unknown or missing keys"),
    "a key less": (tells(names=...), "has unknown or missing keys"),
    "iterations that are text": (tells(n_iter_="4"), "n_iter_ is not a int"),
    "iterations that are negative": (tells(n_iter_=-1), "n_iter_ is negative"),
    "losses that are text": (tells(loss_curve_=["a"]), "losses"),
    "losses without iterations": (tells(loss_curve_=[1.0] * 99), "numbers of losses and iterations differ"),
    "iterations that are lists": (tells(loss_curve_=[1.0], loss_iterations_=[[1]]), "not integers"),
    "names of numbers": (tells(names=[1, 2, 3, 4]), "feature names are not strings"),
    "too few names": (tells(names=["a", "b"]), "2 names for"),
    "objects that are numbers": (tells(objects=True), "objects other than strings"),
    "a parameter more": (parameters(more=1), r"parameters differ from LogReg's: \['more'\]"),
    "a parameter out of range": (parameters(C=-1), "C= "),
    "a threshold of one": (parameters(threshold=1), "threshold= "),
    "a parameter of another kind": (parameters(solver={}), "solver= "),
    "class weights that are no pairs": (parameters(class_weight=[1, 2]), "class_weight is not a list of pairs"),
    "class weights that are text": (parameters(class_weight=[[0, "much"]]), "class_weight is not a list of pairs"),
    "class weights of lists": (parameters(class_weight=[[[], 1]]), "class_weight is not a list of pairs"),
}  # fmt: skip


@pytest.mark.parametrize("damage", MEMBERS)
def test_a_member_that_is_wrong(model: Path, damage: str) -> None:
    change, reason = MEMBERS[damage]
    before = made.members_of(model)
    changed = change(before)
    assert changed != before
    refused(made.write(model, changed), reason)


def test_arrays_in_the_order_of_another_machine(model: Path) -> None:
    before, members = LogReg.load(model, backend="reference"), made.members_of(model)
    swapped = {name: np.asfortranarray(getattr(before, name).astype(">f8")) for name in ("coef_", "intercept_")}
    for name, array in swapped.items():
        members = put(name, array)(members)
    loaded = LogReg.load(made.write(model, members), backend="reference")
    for name in swapped:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(before, name))
        assert getattr(loaded, name).dtype.isnative


FILTERS: dict[str, tuple[dict[str, Any], str]] = {
    "other features": ({"features": "letters"}, "features differ from this release's; train it again"),
    "fewer features": ({"n_features": 15}, "n_features is 15, and the model has 16"),
    "features that are text": ({"n_features": "16"}, "n_features is not an integer"),
    "a threshold that is NaN": ({"threshold": float("nan")}, "threshold is not from 0 to 1"),
    "a threshold above one": ({"threshold": 2}, "threshold is not from 0 to 1"),
    "an unknown label": ({"positive": "junk"}, "positive is 'junk', which is not one"),
    "a label that is a list": ({"positive": ["spam"]}, "positive is not a string"),
    "a key more": ({"more": 1}, "has unknown or missing keys"),
    "a key less": ({"threshold": ...}, "has unknown or missing keys"),
}


@pytest.mark.parametrize("damage", FILTERS)
def test_settings_of_a_filter_that_are_wrong(spam_file: Path, damage: str) -> None:
    changes, reason = FILTERS[damage]
    changed = made.telling(made.members_of(spam_file), changes, "spam_filter.npy")
    refused(made.write(spam_file, changed), reason, SpamFilter)


def test_a_filter_is_as_strict_about_its_model(spam_file: Path, model: Path) -> None:
    members = made.members_of(spam_file)
    refused(model, "it has no spam_filter", SpamFilter)
    refused(made.write(spam_file, made.telling(members, {"format": 2})), "format 2", SpamFilter)
    refused(made.write(spam_file, put("coef_", np.full((1, 16), np.nan, "f4"))(members)), "NaN", SpamFilter)


def test_the_model_of_a_filter_is_read_alone(spam_file: Path) -> None:
    assert LogReg.load(spam_file).classes_.tolist() == ["ham", "spam"]


def test_random_mutations(tmp_path: Path) -> None:
    seen = made.fuzz_model_files(60, 0, tmp_path)
    assert seen["refused"] > 50


def test_numbers_of_numpy_among_the_parameters(tmp_path: Path) -> None:
    how: dict[str, Any] = {"C": np.float32(0.5), "max_iter": np.int64(50), "class_weight": {np.int64(0): np.float32(2)}}
    rng = np.random.default_rng(0)
    model = LogReg("reference", **how).fit(rng.standard_normal((40, 3)), np.arange(40) % 2)
    model.save(tmp_path / "model.npz")
    loaded = LogReg.load(tmp_path / "model.npz", backend="reference")
    assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize("kind", ["model", "filter"])
def test_a_write_that_fails_leaves_the_file_before(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.npz"
    one: Any = (made.saved_model if kind == "model" else made.saved_filter)(path)
    before = path.read_bytes()
    savez = np.savez
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt()):

        def fail(file: Any, error: BaseException = error, **arrays: Any) -> None:
            savez(file, **arrays)
            raise error

        monkeypatch.setattr(archives.np, "savez", fail)
        with pytest.raises(ArgumentError if isinstance(error, OSError) else KeyboardInterrupt):
            one.save(path)
        assert path.read_bytes() == before
        assert [found.name for found in tmp_path.iterdir()] == ["kept.npz"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_file_keeps_its_permissions_and_a_link_its_target(tmp_path: Path) -> None:
    path, link = tmp_path / "kept.npz", tmp_path / "link.npz"
    model = made.saved_model(path)
    (tmp_path / "new").touch()
    assert path.stat().st_mode == (tmp_path / "new").stat().st_mode  # as the umask says
    path.chmod(0o640)
    link.symlink_to(path)
    model.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(ArgumentError, match=r"LogReg.save: a writable file; got .*nowhere/model.npz' \(No such file"):
        model.save(tmp_path / "nowhere" / "model.npz")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(ArgumentError, match=r"a writable file; got .*folder.npz' \(Not a regular file\)"):
        model.save(tmp_path / "folder.npz")
    with pytest.raises(ArgumentError, match=r"a path that ends in .npz; got .*model.bin'"):
        model.save(tmp_path / "model.bin")


def test_weights_that_would_not_be_read_are_not_written(tmp_path: Path) -> None:
    model = made.saved_model(tmp_path / "model.npz")
    model.coef_[0, 0] = np.nan
    with pytest.raises(ArgumentError, match=r"LogReg.save: finite weights; got NaN or infinity"):
        model.save(tmp_path / "model.npz")


def test_a_filter_of_another_classifier_is_not_written(tmp_path: Path) -> None:
    made_filter = SpamFilter(LogisticRegression().fit(np.eye(2), ["spam", "ham"]), 2, 0.5)
    with pytest.raises(ArgumentError, match="a filter whose model is a LogReg; got a LogisticRegression"):
        made_filter.save(tmp_path / "filter.npz")
    assert not list(tmp_path.iterdir())


def test_the_text_of_a_filter_is_json(spam_file: Path) -> None:
    told = made.told(made.members_of(spam_file), "spam_filter.npy")
    assert json.loads(json.dumps(told))["features"] == spam_filter._KIND
