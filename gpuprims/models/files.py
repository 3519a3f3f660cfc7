"""Fitted models in files: arrays and parameters in one .npz, without pickle."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np

from gpuprims.device import Device
from gpuprims.errors import ArgumentError

_Model = TypeVar("_Model")
_FORMAT = 1
# Parameters that are of one machine or process, and no part of a model.
_ELSEWHERE = ("backend", "device", "callback", "random_state")
_FITTED = ("coef_", "intercept_", "classes_")


def write_model(model: Any, path: str | PathLike[str]) -> None:
    """Write a fitted model."""
    classes = model.classes_
    if classes.dtype == object and all(isinstance(one, str) for one in classes):
        classes = classes.astype(str)
    if classes.dtype.kind not in "biufU":
        raise ArgumentError(f"LogReg.save: classes that are numbers or strings; got dtype {classes.dtype}")
    parameters = {name: value for name, value in model.get_params().items() if name not in _ELSEWHERE}
    if isinstance(parameters["class_weight"], dict):
        parameters["class_weight"] = [[_plain(one), weight] for one, weight in parameters["class_weight"].items()]
    told = {
        "format": _FORMAT,
        "parameters": parameters,
        "n_iter_": model.n_iter_,
        "stop_reason_": model.stop_reason_,
        "loss_curve_": model.loss_curve_,
        "loss_iterations_": model.loss_iterations_,
        "validation_errors_": model.validation_errors_,
        "objects": bool(model.classes_.dtype == object),
        "names": list(getattr(model, "feature_names_in_", [])),
    }
    arrays = {"coef_": model.coef_, "intercept_": model.intercept_, "classes_": classes}
    with open(path, "wb") as file:
        np.savez(file, model=np.array(json.dumps(told)), **arrays)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def read_model(kind: type[_Model], path: str | PathLike[str], backend: str | Device | None) -> _Model:
    """Return a model that was written."""
    try:
        with np.load(path, allow_pickle=False) as found:
            told = json.loads(str(found["model"]))
            arrays = {name: found[name] for name in _FITTED}
    except (BadZipFile, KeyError, ValueError, EOFError) as error:
        raise ArgumentError(f"LogReg.load: a file that LogReg.save wrote; got {path} ({error})") from error
    if told["format"] != _FORMAT:
        raise ArgumentError(f"LogReg.load: a file of format {_FORMAT}; got {told['format']} (of a newer gpuprims)")
    parameters = told["parameters"]
    if isinstance(parameters["class_weight"], list):
        parameters["class_weight"] = dict(parameters["class_weight"])
    model: Any = kind(backend=backend, **parameters)  # type: ignore[call-arg]  # of any estimator
    for name, array in arrays.items():
        setattr(model, name, array)
    if told["objects"]:
        model.classes_ = model.classes_.astype(object)
    for name in ("n_iter_", "stop_reason_", "loss_curve_", "loss_iterations_", "validation_errors_"):
        setattr(model, name, told[name])
    model.n_features_in_ = model.coef_.shape[1]
    if told["names"]:
        model.feature_names_in_ = np.array(told["names"], dtype=object)
    loaded: _Model = model
    return loaded
