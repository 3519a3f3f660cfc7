"""The samples of some blocks of a Dask collection, where a fit computes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpuprims.core.device import Device, device_of
from gpuprims.distributed.passes import Pass
from gpuprims.distributed.samples import LABEL, encode_labels, labelled, outputs_of, recoded
from gpuprims.errors import ShapeError
from gpuprims.models import LogReg as OneLogReg
from gpuprims.models.inputs import features_of
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.samples import Samples


@dataclass(frozen=True)
class Facts:
    """Facts about samples that a fit needs before its first pass."""

    classes: np.ndarray
    features: int
    total: float
    dtype: np.dtype[Any]
    fp64: bool

    def __eq__(self, other: object) -> bool:
        """Return True if the other samples may be the same ones."""
        if not isinstance(other, Facts) or not np.array_equal(self.classes, other.classes):
            return False
        return (self.features, self.total, self.dtype) == (other.features, other.total, other.dtype)

    __hash__ = None  # type: ignore[assignment]  # of an array

    @staticmethod
    def join(found: Sequence[Facts | None]) -> Facts:
        """Return the facts of several parts; some may have no samples."""
        parts = [one for one in found if one is not None]
        if not parts:
            raise ShapeError(f"{LABEL}: X of shape (n_samples, n_features), neither of them 0; got no samples")
        widths = sorted({one.features for one in parts})
        if len(widths) > 1:
            raise ShapeError(f"{LABEL}: blocks of as many features; got {' and '.join(map(str, widths))}")
        classes = parts[0].classes if len(parts) == 1 else np.unique(np.concatenate([one.classes for one in parts]))
        dtype = np.result_type(*(one.dtype for one in parts))
        return Facts(classes, widths[0], sum(one.total for one in parts), dtype, all(one.fp64 for one in parts))


class Blocks:
    """The samples of blocks. ``facts`` is None if they have no rows; ``begin`` comes before the first pass."""

    def __init__(
        self, device: str | None, X: Sequence[Any], y: Sequence[Any], weights: Sequence[Any] | None, *, intercept: bool
    ) -> None:
        self._intercept = intercept
        self._found: list[tuple[np.ndarray, Samples]] = []
        self._parts: list[Objective] = []
        for block, labels, own in zip(X, y, weights or [None] * len(X), strict=True):
            if len(labels) != len(block):
                raise ShapeError(f"{LABEL}: a label for each sample; got {len(labels)} for {len(block)} in a block")
            if len(block):
                self._found.append(_encoded(device, block, labels, own))
        self.facts = Facts.join([_facts(*one) for one in self._found]) if self._found else None

    def begin(self, classes: np.ndarray) -> None:
        """Encode the labels with the classes of all parts."""
        outputs = outputs_of(classes)
        for values, samples in self._found:
            codes = recoded(samples.codes, values, classes, samples.device)
            part = Objective(replace(samples, codes=codes), outputs, 0.0, fit_intercept=self._intercept)
            self._parts.append(part)
        self._found = []

    def run(self, work: Pass) -> Any:
        """Return the result of a pass on all blocks; None if they have no rows."""
        return work.run_all(self._parts) if self._parts else None


def _encoded(device: str | None, block: Any, labels: Any, weights: Any) -> tuple[np.ndarray, Samples]:
    """Return the classes of a block and its samples, with the index of each label's class among them."""
    where = None if device_of(block) is not None else device
    _, features = features_of(OneLogReg(device=where), block, reset=True)
    home: Device = features.device
    if features.dense is None:
        raise ShapeError(f"{LABEL}: dense blocks; got a sparse one")
    values, codes = encode_labels(labels, home, np.dtype(features.dense.dtype))
    return values, labelled(home, features, codes, weights)


def _facts(values: np.ndarray, samples: Samples) -> Facts:
    fp64 = samples.device.capabilities.fp64
    return Facts(values, samples.features.shape[1], samples.total, samples.dtype, fp64)
