"""``out=`` of the functions whose results have a known length: filled, returned, and checked alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, on_device, on_host

import gpuprims
from gpuprims.errors import DtypeError, GpuprimsError, ShapeError

X = np.random.default_rng(3).integers(0, 9, (20, 30)).astype(np.float32)
EDGES, ROW = np.array([1, 3, 5], np.float32), np.ascontiguousarray(X[0])
Call = Callable[..., Any]
# From the arrays, and keywords, to a result; and the arrays.
CALLS: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    "searchsorted": (gpuprims.searchsorted, (EDGES, X)),
    "isin, searched": (lambda x, **how: gpuprims.isin(x, [1, 2], kind="sort", **how), (X,)),
    "isin, by a table": (lambda x, **how: gpuprims.isin(x, [1, 2], kind="table", **how), (X.astype(np.int32),)),
    "digitize": (lambda x, **how: gpuprims.digitize(x, EDGES, **how), (X,)),
    "digitize, descending": (lambda x, **how: gpuprims.digitize(x, EDGES[::-1], right=True, **how), (X,)),
    "digitize, both there": (gpuprims.digitize, (X, EDGES)),
    "partition": (lambda x, **how: gpuprims.partition(x, 4, **how), (X,)),
    "argpartition": (lambda x, **how: gpuprims.argpartition(x, (4, 7), 0, **how), (X,)),
    "lexsort": (lambda *rows, **how: gpuprims.lexsort(rows, **how), (ROW, ROW[::-1].copy())),
    "diff": (gpuprims.diff, (X,)),
    "diff, none": (lambda x, **how: gpuprims.diff(x, 0, **how), (X,)),
    "diff, empty": (lambda x, **how: gpuprims.diff(x, 40, **how), (X,)),
    "diff, many": (lambda x, **how: gpuprims.diff(x, 11, prepend=0.0, **how), (X,)),
    "count_nonzero": (lambda x, **how: gpuprims.count_nonzero(x, axis=0, **how), (X,)),
    "convolve": (gpuprims.convolve, (ROW, EDGES)),
    "convolve, same": (lambda x, v, **how: gpuprims.convolve(x, v, "same", **how), (ROW, EDGES)),
    "convolve, valid": (lambda x, v, **how: gpuprims.convolve(x, v, "valid", **how), (ROW, EDGES)),
}
each = pytest.mark.parametrize("name", CALLS)


@each
@pytest.mark.parametrize("strided", [False, True])
def test_results_go_to_out(device: gpuprims.Device, name: str, *, strided: bool) -> None:
    call, arrays = CALLS[name]
    expected = np.asarray(call(*arrays, device=device))
    for _ in range(2):
        whole = np.full((*expected.shape[:-1], 2 * expected.shape[-1]), 77, expected.dtype)
        out = whole[..., ::2] if strided else whole[..., : expected.shape[-1]].copy()
        assert call(*arrays, out=out, device=device) is out
        assert_equal(out, expected)
        assert (whole[..., 1::2] == np.asarray(77).astype(expected.dtype)).all()


@each
def test_results_go_to_out_of_a_device(device: gpuprims.Device, name: str) -> None:
    call, arrays = CALLS[name]
    there = [on_device(device, one) for one in arrays]
    expected = np.asarray(call(*arrays, device=device))
    if not expected.size:
        return
    for _ in range(2):
        out = on_device(device, np.full(expected.shape, 77, expected.dtype))
        assert call(*there, out=out) is out
        assert_equal(on_host(device, out), expected)


@each
def test_out_that_does_not_fit_is_refused(device: gpuprims.Device, name: str) -> None:
    call, arrays = CALLS[name]
    shape, dtype = np.shape(found := call(*arrays, device=device)), np.asarray(found).dtype
    with pytest.raises(ShapeError, match="out"):
        call(*arrays, out=np.empty((*shape, 3), dtype), device=device)
    with pytest.raises((DtypeError, GpuprimsError), match="out"):
        call(*arrays, out=np.empty(shape, np.complex128), device=device)


def test_keys_and_values_go_to_out(device: gpuprims.Device) -> None:
    keys, values = ROW, np.arange(ROW.size)
    expected = gpuprims.sort_by_key(keys, values, device=device)
    out = np.empty_like(keys), np.empty_like(values)
    found = gpuprims.sort_by_key(keys, values, out=out, device=device)
    assert all(one is other for one, other in zip(found, out, strict=True))
    for got, wanted in zip(out, expected, strict=True):
        assert_equal(got, wanted)
