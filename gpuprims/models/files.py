"""Model files: the arrays and parameters of a fitted LogReg in one .npz file, without pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any, Self

import numpy as np

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError
from gpuprims.models.archives import Archive, open_archive, write_archive
from gpuprims.models.checks import check_fitted

_FORMAT = 1
# Parameters that belong to one machine or process; they are not saved.
_LOCAL = ("backend", "device", "callback", "random_state")
# The arrays of a model; _METADATA is a JSON text. A spam filter adds SPAM_ARRAY.
_METADATA = "model"
MODEL_ARRAYS = (_METADATA, "coef_", "intercept_", "classes_")
SPAM_ARRAY = "spam_filter"
# Keys of the JSON text and their types. Fitted attributes come first.
_ATTRIBUTES = {
    "n_iter_": int,
    "stop_reason_": str,
    "loss_curve_": list,
    "loss_iterations_": list,
    "validation_errors_": list,
}
_KEYS = {"parameters": dict, **_ATTRIBUTES, "objects": bool, "names": list}


class SavedModel:
    """Mix-in with ``save`` and ``load`` for linear classifiers."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file atomically, without pickle.

        Parameters
        ----------
        path : str or path
            Must end in ``.npz``.

        Raises
        ------
        ArgumentError
            The path has another suffix, the file cannot be written, or classes are neither numbers nor strings.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from gpuprims.models import LogReg
        >>> model = LogReg("reference").fit([[-1.0], [1.0]], ["no", "yes"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(pathlib.Path(folder) / "model.npz")
        ...     loaded = LogReg.load(pathlib.Path(folder) / "model.npz", backend="reference")
        >>> loaded.predict([[3.0]]).tolist()
        ['yes']
        """
        check_fitted(self)
        write_archive("LogReg.save", path, model_arrays("LogReg.save", self))

    @classmethod
    def load(cls, path: str | PathLike[str], *, backend: str | Device | None = None) -> Self:
        """Read a model that :meth:`save` wrote.

        Files from untrusted sources are safe to load: the content is checked first, never run as code, and memory is
        proportional to the file's size.

        Parameters
        ----------
        path : str or path
        backend : str or Device, optional
            The device to compute on; by default the best one.

        Raises
        ------
        ModelFileError
            The file is not a model, is damaged, is a directory, or cannot be read.
        FileNotFoundError
            The file does not exist.
        """
        with open_archive("LogReg.load", path, MODEL_ARRAYS, (SPAM_ARRAY,)) as archive:
            model: Self = model_of(archive, cls, backend)
        return model


# Writing -------------------------------------------------------------------------------------------------------------


def model_arrays(label: str, model: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a fitted model's file; raise ArgumentError for classes or weights that cannot be saved."""
    model._validate_params()
    classes = model.classes_
    if classes.dtype == object and all(isinstance(one, str) for one in classes):
        classes = classes.astype(str)
    if classes.dtype.kind not in "biufU":
        raise ArgumentError(f"{label}: classes that are numbers or strings; got dtype {classes.dtype}")
    if not (np.isfinite(model.coef_).all() and np.isfinite(model.intercept_).all()):
        raise ArgumentError(f"{label}: finite weights; got NaN or infinity")
    parameters = {name: value for name, value in model.get_params().items() if name not in _LOCAL}
    if isinstance(parameters["class_weight"], dict):
        parameters["class_weight"] = [[_plain(one), weight] for one, weight in parameters["class_weight"].items()]
    metadata = {
        "format": _FORMAT,
        "parameters": parameters,
        **{name: getattr(model, name) for name in _ATTRIBUTES},
        "objects": bool(model.classes_.dtype == object),
        "names": list(getattr(model, "feature_names_in_", [])),
    }
    arrays = {"coef_": model.coef_, "intercept_": model.intercept_, "classes_": classes}
    return {_METADATA: np.array(json.dumps(metadata, default=_plain)), **arrays}


def _plain(value: Any) -> Any:
    """Convert a NumPy scalar to a Python one."""
    return value.item() if isinstance(value, np.generic) else value


# Reading -------------------------------------------------------------------------------------------------------------


def model_of(archive: Archive, kind: Any, backend: str | Device | None) -> Any:
    """Return the model of an archive; check the metadata, then the arrays' shapes, then their elements."""
    metadata = archive.json(_METADATA)
    _check_metadata(archive, metadata)
    _check_shapes(archive, metadata["names"])
    model = kind(**_parameters(archive, kind, metadata["parameters"]))
    try:
        model._validate_params()
    except ArgumentError as error:  # the file is wrong, not the caller's argument
        archive.check(False, str(error))
    model.set_params(backend=backend)
    for name in ("coef_", "intercept_", "classes_"):
        array = archive.arrays[name]
        archive.check(array.dtype.kind != "f" or bool(np.isfinite(array).all()), f"{name} has NaN or infinity")
        setattr(model, name, array)
    classes = model.classes_
    archive.check(bool(np.all(classes[:-1] < classes[1:])), "classes_ are not unique and sorted")
    if metadata["objects"]:
        archive.check(classes.dtype.kind == "U", "classes_ are objects other than strings")
        model.classes_ = classes.astype(object)
    for name in _ATTRIBUTES:
        setattr(model, name, metadata[name])
    model.n_features_in_ = model.coef_.shape[1]
    if metadata["names"]:
        model.feature_names_in_ = np.array(metadata["names"], dtype=object)
    return model


def _check_metadata(archive: Archive, metadata: Mapping[str, Any]) -> None:
    version = metadata.get("format")
    archive.check(version == _FORMAT and type(version) is int, f"format {version!r}; this release reads {_FORMAT}")
    archive.check(metadata.keys() == {"format", *_KEYS}, f"{_METADATA} has unknown or missing keys")
    for name, kind in _KEYS.items():
        archive.check(type(metadata[name]) is kind, f"{name} is not a {kind.__name__}")
    archive.check(metadata["n_iter_"] >= 0, "n_iter_ is negative")
    losses, iterations = metadata["loss_curve_"], metadata["loss_iterations_"]
    archive.check(_all(losses + metadata["validation_errors_"], int, float), "losses are not numbers")
    archive.check(_all(iterations, int), "loss_iterations_ are not integers")
    archive.check(len(losses) == len(iterations), "numbers of losses and iterations differ")
    archive.check(_all(metadata["names"], str), "feature names are not strings")


def _all(values: list[Any], *kinds: type) -> bool:
    """Return True if all values have one of these types; a bool does not count as an int."""
    return all(type(one) in kinds for one in values)


def _parameters(archive: Archive, kind: Any, given: dict[str, Any]) -> dict[str, Any]:
    known = set(kind().get_params()) - set(_LOCAL)
    archive.check(given.keys() == known, f"parameters differ from LogReg's: {sorted(given.keys() ^ known)}")
    weights = given["class_weight"]
    if not isinstance(weights, list):
        return given
    fits = _all(weights, list) and all(len(one) == 2 and _all(one[1:], int, float) for one in weights)
    fits = fits and _all([one for one, _ in weights], str, bool, int, float)
    archive.check(fits, "class_weight is not a list of pairs")
    return {**given, "class_weight": dict(weights)}


def _check_shapes(archive: Archive, names: list[str]) -> None:
    """Check that the shapes and dtypes of the arrays match each other."""
    coef, intercept, classes = (archive.arrays[name] for name in ("coef_", "intercept_", "classes_"))
    archive.check(len(classes.shape) == 1 and classes.shape[0] >= 2, f"classes_ of shape {classes.shape}")
    rows = 1 if classes.shape[0] == 2 else classes.shape[0]
    fits = len(coef.shape) == 2 and coef.shape[0] == rows and coef.shape[1] >= 1
    archive.check(fits, f"coef_ of shape {coef.shape} for {classes.shape[0]} classes")
    archive.check(intercept.shape == (rows,), f"intercept_ of shape {intercept.shape} for {classes.shape[0]} classes")
    floats = coef.dtype in (np.float32, np.float64)
    archive.check(floats and intercept.dtype == coef.dtype, f"weights of {coef.dtype} and {intercept.dtype}")
    archive.check(len(names) in (0, coef.shape[1]), f"{len(names)} names for {coef.shape[1]} features")
