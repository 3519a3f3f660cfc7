"""Labelled samples of the shards of a group or of a stream, encoded with the classes of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.distributed.alike import alike
from gpuprims.distributed.objective import Form
from gpuprims.distributed.passes import Pass
from gpuprims.distributed.sharded import ShardedArray
from gpuprims.distributed.streams import Stream
from gpuprims.errors import ArgumentError, ShapeError
from gpuprims.models import LogReg as OneLogReg
from gpuprims.models.device_arrays import to_host
from gpuprims.models.inputs import features_of
from gpuprims.models.logreg.labels import encoded, encoded_on_device
from gpuprims.models.logreg.objective import Objective
from gpuprims.models.logreg.samples import Samples, host_labels
from gpuprims.primitives.map import map as map_elements
from gpuprims.primitives.reduce import reduce
from gpuprims.primitives.take import take

LABEL = "LogReg"


def samples_of_shards(X: ShardedArray, y: Any, sample_weight: Any) -> tuple[np.ndarray, list[Samples]]:
    """Return the classes of all labels, and the samples of each shard."""
    group = X.group
    if X.ndim != 2 or not all(shard.shape[0] for shard in X.shards):
        rule = f"{LABEL}: X of shape (n_samples, n_features), with samples in each shard"
        raise ShapeError(f"{rule}; got {X!r}")
    labels = _cut_like(X, y)
    weights = None if sample_weight is None else _cut_like(X, sample_weight)

    def encode(k: int) -> tuple[np.ndarray, Samples]:
        _, features = features_of(OneLogReg(device=group.devices[k]), X.shards[k], reset=True)
        assert features.dense is not None  # noqa: S101  # shards are dense
        values, codes = encode_labels(labels[k], group.devices[k], np.dtype(features.dense.dtype))
        return values, labelled(group.devices[k], features, codes, None if weights is None else weights[k])

    found = group.each(f"{LABEL}.fit", encode)
    everybody = group.share(f"{LABEL}.fit", lambda: [values for values, _ in found])
    classes = all_classes([values for own in everybody for values in own])

    def recode(k: int) -> Samples:
        values, samples = found[k]
        return replace(samples, codes=recoded(samples.codes, values, classes, samples.device))

    return classes, group.each(f"{LABEL}.fit", recode)


def all_classes(found: Sequence[np.ndarray]) -> np.ndarray:
    """Return the classes of all parts, given those of each."""
    classes: np.ndarray = np.unique(np.concatenate(found))
    if len(classes) < 2:
        raise ArgumentError(f"{LABEL}: at least two classes; got one class, {classes.tolist()[0]!r}")
    return classes


def outputs_of(classes: np.ndarray) -> int:
    """Return the number of scores of a sample: one for two classes, else one for each class."""
    return 1 if len(classes) == 2 else len(classes)


def _cut_like(X: ShardedArray, given: Any) -> list[Any]:
    """Return labels or weights by shards: those of a sharded array, or parts of a host array."""
    if isinstance(given, ShardedArray):
        alike_rows = given.offsets == X.offsets and given.ndim == 1
        if not alike_rows:
            raise ShapeError(
                f"{LABEL}: labels and weights cut as X is, {X!r}; got {given!r} (write scatter(y, like=X))"
            )
        alike(LABEL, X.group, [given])
        return list(given.shards)
    whole = host_labels(LABEL, given, len(X)) if np.asarray(given).dtype.kind != "f" else np.asarray(given)
    if whole.shape != (len(X),):
        raise ShapeError(f"{LABEL}: a label, and a weight, for each of {len(X)} samples; got shape {whole.shape}")
    return [whole[start:end] for start, end in zip(X.offsets, X.offsets[1:], strict=False)]


def encode_labels(labels: Any, device: Device, dtype: np.dtype[Any]) -> tuple[np.ndarray, Any]:
    """Return the classes of labels, and the index of each label's class on the device."""
    found = None if isinstance(labels, np.ndarray) else encoded_on_device(labels, device, dtype)
    if found is not None:
        return found
    host = host_labels(LABEL, to_host(LABEL, labels), labels.shape[0])
    values, codes = encoded(LABEL, host, None)
    return values, device.asarray(np.ascontiguousarray(codes, dtype))


def recoded(codes: Any, values: np.ndarray, classes: np.ndarray, device: Device) -> Any:
    """Return the index of each label's class among all classes, given that among the classes of a part."""
    if np.array_equal(values, classes):
        return codes
    places = device.asarray(np.searchsorted(classes, values).astype(codes.dtype))
    return take(places, map_elements(lambda c: c.astype(np.int32), codes, device=device), device=device)


def labelled(device: Device, features: Any, codes: Any, weights: Any) -> Samples:
    """Return samples with encoded labels, and with weights if there are any."""
    count, dtype = features.shape[0], np.dtype(codes.dtype)
    if weights is None:
        return Samples(device, features, codes, None, total=float(count))
    host = np.asarray(to_host(LABEL, weights))
    if host.shape != (count,) or host.dtype.kind not in "biuf" or not np.all(host >= 0):
        rule = f"{LABEL}: sample_weight= with a number from 0 on for each sample"
        raise ArgumentError(
            f"{rule}; got {host.dtype}{list(host.shape)}, the least {host.min() if host.size else None}"
        )
    there = device.asarray(np.ascontiguousarray(host, dtype))
    total = float(device.to_host(reduce(there, dtype=np.float64, device=device))) if device.capabilities.fp64 else None
    total = float(host.sum(dtype=np.float64)) if total is None else total
    return Samples(device, features, codes, there, total=total)


class StreamedSamples:
    """The samples of a stream of features, labels and perhaps weights; each pass reads them again.

    The first pass finds the classes and the total weight, and checks that features are finite.
    """

    def __init__(self, stream: Stream, *, fit_intercept: bool) -> None:
        self._stream, self._fit_intercept = stream, fit_intercept
        found: list[np.ndarray] = []
        self.total, self.features, self._dtype = 0.0, 0, np.dtype(np.float32)
        for X, y, weights in self._chunks():
            _, features = features_of(OneLogReg(device=stream.device), X, reset=True)
            if self.features not in (0, features.shape[1]):
                raise ShapeError(f"{LABEL}: chunks of as many features; got {self.features} and {features.shape[1]}")
            assert features.dense is not None  # noqa: S101  # chunks are dense
            self.features, self._dtype = features.shape[1], np.dtype(features.dense.dtype)
            values, codes = encode_labels(y, stream.device, np.dtype(np.float32))
            self.total += labelled(stream.device, features, codes, weights).total
            found.append(values)
        if not found:
            raise ShapeError(f"{LABEL}: X of shape (n_samples, n_features), neither of them 0; got no samples")
        self.classes = all_classes(found)

    @property
    def form(self) -> Form:
        """What the objectives of all chunks share."""
        fp64 = self._stream.device.capabilities.fp64
        return Form(self._dtype, self.features, outputs_of(self.classes), self._fit_intercept, fp64)

    def each(self, work: Pass) -> list[Any]:
        """Run a pass on the objective of each chunk, and return the joined result: of all chunks, one is kept."""
        found: list[Any] = []
        for part in self._objectives():
            found = [work.join([*found, work.run(part)])]
        return found

    def _objectives(self) -> Iterator[Objective]:
        device, outputs = self._stream.device, outputs_of(self.classes)
        for X, y, weights in self._chunks():
            _, features = features_of(OneLogReg(device=device), X, reset=True, finite=False)
            assert features.dense is not None  # noqa: S101  # chunks are dense
            _, codes = encoded(LABEL, host_labels(LABEL, y, len(X)), self.classes)
            there = device.asarray(np.ascontiguousarray(codes, features.dense.dtype))
            samples = labelled(device, features, there, weights)
            yield Objective(samples, outputs, 0.0, fit_intercept=self._fit_intercept)

    def _chunks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        for chunk in self._stream.chunks(LABEL, upload=1):
            if len(chunk.arrays) not in (2, 3):
                rule = f"{LABEL}: a stream of features and labels, and perhaps of weights: stream(X, y)"
                raise ArgumentError(f"{rule}; got {len(chunk.arrays)} array(s)")
            if len(chunk.arrays[0]):
                X, y, *own = chunk.arrays
                yield X, y, own[0] if own else None
