"""Masked arrays are refused everywhere, because kernels would compute with the hidden elements."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_cases import on_device

import gpuprims
from gpuprims.errors import ArrayError
from gpuprims.models import LogReg
from gpuprims.models.metrics import Rates
from gpuprims.primitives.csr import csr_product
from gpuprims.primitives.descent import logistic_descent
from gpuprims.primitives.hogwild import logistic_hogwild
from gpuprims.primitives.logistic import logistic_gradient
from gpuprims.primitives.sgd import logistic_sgd

X = np.arange(1.0, 7.0)
ROWS = X.reshape(3, 2)
LABELS = np.array([0.0, 1.0, 0.0])
WHOLE = np.array([0, 1, 2, 0, 1, 2])
OFFSETS = np.array([0, 2, 6])
KEYS = {"device": "reference"}


def masked(array: np.ndarray) -> Any:
    """Mask the first element."""
    return np.ma.masked_array(array, np.arange(array.size).reshape(array.shape) == 0)


def fitted() -> LogReg:
    return LogReg("reference").fit(ROWS, LABELS)


class Producer:
    """Gives a masked array to whoever asks for an array."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return masked(X)


CALLS: dict[str, Callable[[], Any]] = {
    "reduce": lambda: gpuprims.reduce(masked(X), **KEYS),
    "reduce without a masked element": lambda: gpuprims.reduce(np.ma.masked_array(X), **KEYS),
    "reduce of the masked constant": lambda: gpuprims.reduce(np.ma.masked, **KEYS),
    "reduce's second array": lambda: gpuprims.reduce(X, masked(X), map="x*y", **KEYS),
    "reduce's segments": lambda: gpuprims.reduce(X, segments=masked(OFFSETS), **KEYS),
    "reduce's out": lambda: gpuprims.reduce(ROWS, axis=0, out=masked(np.zeros(2)), **KEYS),
    "an operator's identity": lambda: gpuprims.Op(lambda a, b: a + b, np.ma.masked),
    "a list of masked arrays": lambda: gpuprims.reduce([masked(X), masked(X)], **KEYS),
    "a list of lists": lambda: gpuprims.reduce([[X], [masked(X)]], **KEYS),
    "a tuple of a list": lambda: gpuprims.reduce(([X, masked(X)],), **KEYS),
    "a deque": lambda: gpuprims.reduce(deque([masked(X)]), **KEYS),
    "a list by another name": lambda: gpuprims.reduce(UserList([masked(X)]), **KEYS),
    "__array__": lambda: gpuprims.reduce(Producer(), **KEYS),
    "map": lambda: gpuprims.map("2*x", masked(X), **KEYS),
    "map by name": lambda: gpuprims.map("2*x", x=masked(X), **KEYS),
    "map of vectors": lambda: gpuprims.map(lambda v: v[0] + v[1], masked(ROWS), vector_axis=-1, **KEYS),
    "map's out": lambda: gpuprims.map("2*x", X, out=masked(np.zeros(6)), **KEYS),
    "one of map's outs": lambda: gpuprims.map("(x, 2*x)", X, out=(np.zeros(6), masked(np.zeros(6))), **KEYS),
    "scan": lambda: gpuprims.scan(masked(X), **KEYS),
    "scan's out": lambda: gpuprims.scan(X, out=masked(np.zeros(6)), **KEYS),
    "cumsum": lambda: gpuprims.cumsum(masked(X), **KEYS),
    "cumprod": lambda: gpuprims.cumprod(masked(X), **KEYS),
    "compact": lambda: gpuprims.compact(masked(X), "x > 2", **KEYS),
    "compact's mask": lambda: gpuprims.compact(X, masked(X > 2), **KEYS),
    "histogram": lambda: gpuprims.histogram(masked(X), **KEYS),
    "histogram's bins": lambda: gpuprims.histogram(X, bins=masked(np.array([1.0, 2, 9])), **KEYS),
    "histogram's range": lambda: gpuprims.histogram(X, range=masked(np.array([1.0, 9])), **KEYS),
    "histogram's weights": lambda: gpuprims.histogram(X, weights=masked(X), **KEYS),
    "bincount": lambda: gpuprims.bincount(masked(WHOLE), **KEYS),
    "bincount's weights": lambda: gpuprims.bincount(WHOLE, weights=masked(X), **KEYS),
    "stencil": lambda: gpuprims.stencil(masked(X), [1, 2, 1], **KEYS),
    "stencil's weights": lambda: gpuprims.stencil(X, masked(np.array([1.0, 2, 1])), **KEYS),
    "stencil's border": lambda: gpuprims.stencil(X, [1, 2, 1], mode="constant", cval=np.ma.masked, **KEYS),
    "stencil's out": lambda: gpuprims.stencil(X, [1, 2, 1], out=masked(np.zeros(6)), **KEYS),
    "blur": lambda: gpuprims.blur(masked(ROWS), **KEYS),
    "blur's out": lambda: gpuprims.blur(ROWS, out=masked(np.zeros((3, 2))), **KEYS),
    "plan": lambda: gpuprims.plan("reduce", masked(X), **KEYS),
    "a plan's call": lambda: gpuprims.plan("reduce", X, **KEYS)(masked(X)),
    "a plan's item": lambda: gpuprims.plan("reduce", X, **KEYS).item(masked(X)),
    "a plan's out": lambda: gpuprims.plan("map", "2*x", X, **KEYS)(X, out=masked(np.zeros(6))),
    "asarray": lambda: gpuprims.Device("reference").asarray(masked(X)),
    "hash_counts": lambda: gpuprims.hash_counts([masked(WHOLE)], 4, **KEYS),
    "hash_counts of rows": lambda: gpuprims.hash_counts(masked(WHOLE.reshape(3, 2)), 4, **KEYS),
    "hash_counts of segments": lambda: gpuprims.hash_counts(masked(WHOLE), 4, segments=OFFSETS, **KEYS),
    "hash_counts' segments": lambda: gpuprims.hash_counts(WHOLE, 4, segments=masked(OFFSETS), **KEYS),
    "logistic_gradient": lambda: logistic_gradient(masked(ROWS), LABELS, np.zeros(2), **KEYS),
    "logistic_gradient's weights": lambda: logistic_gradient(
        ROWS, LABELS, np.zeros(2), sample_weight=masked(LABELS), **KEYS
    ),
    "logistic_descent": lambda: logistic_descent(ROWS, masked(LABELS), np.zeros(2), rate=0.1, steps=1, **KEYS),
    "logistic_sgd": lambda: logistic_sgd(
        masked(ROWS), LABELS, np.zeros(2), order=np.zeros(2, np.int32), rate=0.1, **KEYS
    ),
    "logistic_sgd's rate": lambda: logistic_sgd(
        ROWS, LABELS, np.zeros(2), np.zeros(2, np.int32), rate=masked(np.ones(2)), **KEYS
    ),
    "logistic_hogwild": lambda: logistic_hogwild(
        ROWS, LABELS, masked(np.zeros(2)), np.zeros(2, np.int32), rate=0.1, **KEYS
    ),
    "csr_product": lambda: csr_product(masked(X), WHOLE, OFFSETS, np.ones(3), **KEYS),
    "fit": lambda: LogReg("reference").fit(masked(ROWS), LABELS),
    "fit's labels": lambda: LogReg("reference").fit(ROWS, masked(LABELS)),
    "fit's weights": lambda: LogReg("reference").fit(ROWS, LABELS, sample_weight=masked(LABELS + 1)),
    "fit of a list": lambda: LogReg("reference").fit(list(masked(ROWS)), LABELS),
    "partial_fit": lambda: LogReg("reference").partial_fit(masked(ROWS), LABELS, classes=[0, 1]),
    "partial_fit's classes": lambda: LogReg("reference").partial_fit(ROWS, LABELS, classes=masked(np.array([0, 1]))),
    "predict": lambda: fitted().predict(masked(ROWS)),
    "predict_proba": lambda: fitted().predict_proba(masked(ROWS)),
    "predict_log_proba": lambda: fitted().predict_log_proba(masked(ROWS)),
    "decision_function": lambda: fitted().decision_function(masked(ROWS)),
    "score": lambda: fitted().score(masked(ROWS), LABELS),
    "score's labels": lambda: fitted().score(ROWS, masked(LABELS)),
    "score's weights": lambda: fitted().score(ROWS, LABELS, sample_weight=masked(LABELS + 1)),
    "a confusion's labels": lambda: Rates.of(masked(LABELS), LABELS, positive=1.0),
    "a confusion's predictions": lambda: Rates.of(LABELS, masked(LABELS), positive=1.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_masked_array_is_refused_with_what_to_write_instead(name: str) -> None:
    with pytest.raises(ArrayError, match=r"arrays without a mask; got a masked array of shape") as raised:
        CALLS[name]()
    for instead in (".compressed()", ".filled("):
        assert instead in str(raised.value)


def test_on_every_device_and_beside_its_arrays(device: gpuprims.Device) -> None:
    for call in (
        lambda: gpuprims.reduce(masked(X), device=device),
        lambda: gpuprims.map("x*y", on_device(device, X), np.ma.masked, device=device),
        lambda: gpuprims.map("x+1", on_device(device, X), out=masked(np.zeros(6)), device=device),
    ):
        with pytest.raises(ArrayError, match=r"\.compressed\(\)"):
            call()


def test_what_the_message_names_computes_as_numpy() -> None:
    given = masked(X)
    assert gpuprims.reduce(given.compressed(), **KEYS) == given.sum()
    assert gpuprims.reduce(given.filled(0), **KEYS) == given.sum()
    assert gpuprims.reduce([given.compressed()], **KEYS) == given.sum()
