"""The base of models of hidden causes: fit, transform and its inverse, with samples on the device."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array

from gpuprims.core.device import Device, pick_device
from gpuprims.core.operands import Operands, as_operands
from gpuprims.errors import ArgumentError
from gpuprims.expressions.masks import refuse_masked
from gpuprims.models.checks import CheckedParameters, OwnErrors, check_fitted
from gpuprims.models.decomposition.moments import fitted_samples, moments_of
from gpuprims.models.decomposition.products import centred_product
from gpuprims.models.device_arrays import device_operands, host_array, like_samples
from gpuprims.models.features import DenseFeatures
from gpuprims.models.inputs import all_finite, dense_features_of
from gpuprims.primitives.map import map as map_elements


class Latent(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CheckedParameters, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of models whose samples are ``mean_ + hidden @ loadings``, with a linear estimate of what is hidden."""

    components_: np.ndarray
    mean_: np.ndarray
    backend: str | Device | None
    device: str | Device | None

    @property
    def fit_dtype(self) -> np.dtype[Any]:
        """The dtype of the fit."""
        found: np.dtype[Any] = self.components_.dtype
        return found

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that results have the dtype of the samples."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            On the host or a device. Float32 samples are fitted in float32, all others in float64.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ArgumentError
            NaN or infinity in ``X``, fewer than two samples, or more components than the samples have.
        DeviceMismatchError
            Samples on another device than the one asked for.
        """
        self._validate_params()
        features, moments = fitted_samples(self, X, self._moments_of)
        self._fit_moments(moments)
        self._keep_as(features.array.dtype)
        return self

    def _moments_of(self, features: DenseFeatures) -> Any:
        """Return the statistics of the samples that a fit needs, or None if they are not finite."""
        return moments_of(features)

    def _fit_moments(self, moments: Any) -> None:
        """Set the fitted attributes in float64."""
        raise NotImplementedError

    def _projection(self) -> np.ndarray:
        """Return the matrix P of ``hidden = (X - mean_) @ P.T``, in float64."""
        raise NotImplementedError

    def _loadings(self) -> np.ndarray:
        """Return the matrix W of ``X = mean_ + hidden @ W``."""
        return self.components_

    def _keep_as(self, dtype: Any) -> None:
        """Convert the fitted arrays to the dtype of the samples."""
        for name, value in vars(self).items():
            if name.endswith("_") and isinstance(value, np.ndarray) and value.dtype.kind == "f":
                setattr(self, name, value.astype(dtype))

    def transform(self, X: Any) -> Any:
        """Return the hidden values of each sample, of shape (n_samples, n_components).

        The result is an array of the samples' library on their device.
        """
        check_fitted(self)
        operands, features = dense_features_of(self, X, reset=False, finite=False)
        with np.errstate(over="ignore", invalid="ignore"):
            found = centred_product(features, self.mean_, self._projection())
        if not all_finite(found, features.device):  # as of samples with NaN or infinity
            dense_features_of(self, X, reset=False)
        return given_back(X, operands, found)

    def inverse_transform(self, X: Any) -> Any:
        """Return the samples of some hidden values of shape (n_samples, n_components)."""
        check_fitted(self)
        loadings = np.asarray(self._loadings(), np.float64)
        operands, features = self._hidden(X, len(loadings))
        found = centred_product(features, np.zeros(len(loadings)), loadings.T)
        mean = features.device.asarray(self.mean_.reshape(1, -1))
        return given_back(X, operands, map_elements("z + m", found, mean, device=features.device))

    def _hidden(self, X: Any, columns: int) -> tuple[Operands, DenseFeatures]:
        """Check hidden values and return them on a device."""
        label, dtype = f"{type(self).__name__}.inverse_transform", self.fit_dtype
        asked = self.backend if self.device is None else self.device
        refuse_masked(f"{label}: X", X)
        operands = device_operands(label, X, asked)
        if operands is None:
            with OwnErrors(label):
                checked = check_array(host_array(label, X), dtype=dtype, order="C")
            operands = as_operands(label, (checked,), pick_device(None, asked))
        device = operands.device
        array = device.asarray(operands.natives[0]) if operands.on_host else operands.natives[0]
        if len(array.shape) != 2 or array.shape[1] != columns:
            raise ArgumentError(f"{label}: X of shape (n_samples, {columns}); got shape {tuple(array.shape)}")
        if array.dtype != dtype:
            array = map_elements(lambda x: x.astype(dtype), array, device=device)
        return operands if operands.on_host else operands.instead(array), DenseFeatures(device, array)


def given_back(X: Any, operands: Operands, result: Any) -> Any:
    """Convert a device result to the library and memory of the samples."""
    return like_samples(X, operands.device.to_host(result)) if operands.on_host else operands.to_caller(result)
