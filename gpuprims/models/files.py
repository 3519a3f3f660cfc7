"""Fitted models in files: arrays and parameters in one .npz, without pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError
from gpuprims.models.archives import Archive, open_archive, write_archive

_Model = TypeVar("_Model")
_FORMAT = 1
# Parameters that are of one machine or process, and no part of a model.
_ELSEWHERE = ("backend", "device", "callback", "random_state")
_STORY = "model"
# The arrays of a model in its archive, and the one that a spam filter adds.
MODEL_ARRAYS = (_STORY, "coef_", "intercept_", "classes_")
BESIDE_MODEL = ("spam_filter",)
# Keys of the JSON text beside the arrays, and their types.
_TOLD = {
    "parameters": dict,
    "n_iter_": int,
    "stop_reason_": str,
    "loss_curve_": list,
    "loss_iterations_": list,
    "validation_errors_": list,
    "objects": bool,
    "names": list,
}
_SET = ("n_iter_", "stop_reason_", "loss_curve_", "loss_iterations_", "validation_errors_")


class KeptInFiles:
    """Mix-in with ``save`` and ``load`` for estimators of linear scores."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file atomically, without pickle.

        Parameters
        ----------
        path : str or path
            A name that ends in ``.npz``.

        Raises
        ------
        ArgumentError
            The name has another ending, the file cannot be written, or classes are neither numbers nor strings.
        """
        check_is_fitted(self)
        write_archive("LogReg.save", path, model_arrays("LogReg.save", self))

    @classmethod
    def load(cls, path: str | PathLike[str], *, backend: str | Device | None = None) -> Self:
        """Return a model that :meth:`save` wrote.

        The file may come from a stranger: ``load`` checks it first, runs none of it as code, and takes memory in
        proportion to its size.

        Parameters
        ----------
        path : str or path
        backend : str or Device, optional
            The device to compute on; by default the best one.

        Raises
        ------
        ModelFileError
            The file holds no model, is damaged, is a folder or cannot be read.
        FileNotFoundError
            The file does not exist.
        """
        with open_archive("LogReg.load", path, MODEL_ARRAYS, BESIDE_MODEL) as archive:
            return model_of(archive, cls, backend)


# Writing -------------------------------------------------------------------------------------------------------------


def model_arrays(label: str, model: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a fitted model's file.

    Raises
    ------
    ArgumentError
        Classes are neither numbers nor strings, or weights are not finite.
    """
    model._validate_params()
    classes = model.classes_
    if classes.dtype == object and all(isinstance(one, str) for one in classes):
        classes = classes.astype(str)
    if classes.dtype.kind not in "biufU":
        raise ArgumentError(f"{label}: classes that are numbers or strings; got dtype {classes.dtype}")
    if not (np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()):
        raise ArgumentError(f"{label}: finite weights; got NaN or infinity")
    parameters = {name: value for name, value in model.get_params().items() if name not in _ELSEWHERE}
    if isinstance(parameters["class_weight"], dict):
        parameters["class_weight"] = [[_plain(one), weight] for one, weight in parameters["class_weight"].items()]
    told = {
        "format": _FORMAT,
        "parameters": parameters,
        **{name: getattr(model, name) for name in _SET},
        "objects": bool(model.classes_.dtype == object),
        "names": list(getattr(model, "feature_names_in_", [])),
    }
    arrays = {"coef_": model.coef_, "intercept_": model.intercept_, "classes_": classes}
    return {_STORY: np.array(json.dumps(told, default=_plain)), **arrays}


def _plain(value: Any) -> Any:
    """Return a NumPy scalar as Python's."""
    return value.item() if isinstance(value, np.generic) else value


# Reading -------------------------------------------------------------------------------------------------------------


def model_of(archive: Archive, kind: type[_Model], backend: str | Device | None) -> _Model:
    """Return the model of an archive; check its text first, then the arrays' shapes, then their elements."""
    told = archive.json(_STORY)
    _check_told(archive, told)
    _check_shapes(archive, told["names"])
    model: Any = kind(**_parameters(archive, kind, told["parameters"]))
    model._validate_params()
    model.set_params(backend=backend)
    model.coef_, model.intercept_ = (_finite(archive, name) for name in ("coef_", "intercept_"))
    model.classes_ = _classes(archive)
    if told["objects"]:
        archive.check(model.classes_.dtype.kind == "U", "classes_ are objects other than strings")
        model.classes_ = model.classes_.astype(object)
    for name in _SET:
        setattr(model, name, told[name])
    model.n_features_in_ = model.coef_.shape[1]
    if told["names"]:
        model.feature_names_in_ = np.array(told["names"], dtype=object)
    loaded: _Model = model
    return loaded


def _check_told(archive: Archive, told: Mapping[str, Any]) -> None:
    given = told.get("format")
    archive.check(given == _FORMAT and type(given) is int, f"format {given!r}, and this gpuprims reads {_FORMAT}")
    archive.check(told.keys() == {"format", *_TOLD}, f"{_STORY} has unknown or missing keys")
    for name, kind in _TOLD.items():
        archive.check(type(told[name]) is kind, f"{name} is not a {kind.__name__}")
    archive.check(told["n_iter_"] >= 0, "n_iter_ is negative")
    archive.check(
        all(_is_number(one) for one in told["loss_curve_"] + told["validation_errors_"]), "losses are not numbers"
    )
    archive.check(all(type(one) is int for one in told["loss_iterations_"]), "loss_iterations_ are not integers")
    archive.check(len(told["loss_curve_"]) == len(told["loss_iterations_"]), "losses without iterations")
    archive.check(all(type(one) is str for one in told["names"]), "names of features are not strings")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _parameters(archive: Archive, kind: Any, given: dict[str, Any]) -> dict[str, Any]:
    known = set(kind().get_params()) - set(_ELSEWHERE)
    archive.check(given.keys() == known, f"parameters differ from LogReg's: {sorted(given.keys() ^ known)}")
    weights = given["class_weight"]
    if not isinstance(weights, list):
        return given
    pairs = all(isinstance(one, list) and len(one) == 2 and _is_number(one[1]) for one in weights)
    archive.check(
        pairs and all(isinstance(one, str | int | float) for one, _ in weights), "class_weight is not a list of pairs"
    )
    return {**given, "class_weight": dict(weights)}


def _check_shapes(archive: Archive, names: list[str]) -> None:
    """Check that the arrays fit each other, by their headers alone."""
    coef, intercept, classes = (archive.members[name] for name in ("coef_", "intercept_", "classes_"))
    archive.check(len(classes.shape) == 1 and classes.shape[0] >= 2, f"classes_ of shape {classes.shape}")
    rows = 1 if classes.shape[0] == 2 else classes.shape[0]
    fits = len(coef.shape) == 2 and coef.shape[0] == rows and coef.shape[1] >= 1
    archive.check(fits, f"coef_ of shape {coef.shape} for {classes.shape[0]} classes")
    archive.check(intercept.shape == (rows,), f"intercept_ of shape {intercept.shape} for {classes.shape[0]} classes")
    floats = coef.dtype.newbyteorder("=") in (np.float32, np.float64)
    archive.check(floats and intercept.dtype == coef.dtype, f"weights of {coef.dtype} and {intercept.dtype}")
    archive.check(len(names) in (0, coef.shape[1]), f"{len(names)} names of {coef.shape[1:2]} features")


def _finite(archive: Archive, name: str) -> np.ndarray:
    array = archive.read(name)
    archive.check(bool(np.isfinite(array).all()), f"{name} has NaN or infinity")
    return array


def _classes(archive: Archive) -> np.ndarray:
    classes = archive.read("classes_")
    archive.check(classes.dtype.kind != "f" or bool(np.isfinite(classes).all()), "classes_ have NaN or infinity")
    archive.check(bool(np.all(classes[:-1] < classes[1:])), "classes_ are not unique and sorted")
    return classes
