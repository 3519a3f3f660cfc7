"""``out=`` of functions whose results have a length that depends on the elements: results fill its beginning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need, on_device, on_host

import gpuprims
from gpuprims.errors import ArgumentError, DeviceMismatchError, DtypeError, ShapeError

RNG = np.random.default_rng(5)
X = RNG.integers(0, 9, (300, 7)).astype(np.float32)
ROW, KEYS = RNG.integers(0, 40, 3000).astype(np.int32), RNG.integers(-9, 9, 3000)
WEIGHTS = RNG.integers(0, 9, 3000).astype(np.float64)
Call = Callable[..., Any]
# From arrays, and keywords, to results; the arrays; and the axis of each result along which ``out=`` may be longer.
CALLS: dict[str, tuple[Call, tuple[np.ndarray, ...], tuple[int | None, ...]]] = {
    "compact": (gpuprims.compact, (ROW, ROW > 20), (0,)),
    "compact by a function": (lambda x, **how: gpuprims.compact(x, "x > 4", **how), (X,), (0,)),
    "compact all": (lambda x, **how: gpuprims.compact(x, "x >= 0", **how), (ROW,), (0,)),
    "compact none": (lambda x, **how: gpuprims.compact(x, "x < 0", **how), (ROW,), (0,)),
    "compact rows": (lambda x, mask, **how: gpuprims.compact(x, mask, axis=0, **how), (X, X[:, 0] > 3), (0,)),
    "compact columns": (lambda x, mask, **how: gpuprims.compact(x, mask, axis=1, **how), (X, X[0] > 3), (1,)),
    "nonzero": (gpuprims.nonzero, (X,), (0, 0)),
    "nonzero of a row": (gpuprims.nonzero, (ROW,), (0,)),
    "argwhere": (gpuprims.argwhere, (X,), (0,)),
    "argwhere of a row": (gpuprims.argwhere, (ROW,), (0,)),
    "unique": (gpuprims.unique, (X,), (0,)),
    "unique of integers": (gpuprims.unique, (ROW,), (0,)),
    "unique, and more": (
        lambda x, **how: gpuprims.unique(x, True, True, True, **how), (X,), (0, 0, None, 0),
    ),
    "unique, and counts": (lambda x, **how: gpuprims.unique(x, return_counts=True, **how), (ROW,), (0, 0)),
    "unique_consecutive": (lambda x, **how: gpuprims.unique_consecutive(x, True, True, **how), (X,), (0, None, 0)),
    "run_length_encode": (gpuprims.run_length_encode, (ROW // 8,), (0, 0)),
    "run_length_decode": (gpuprims.run_length_decode, (ROW, ROW % 3), (0,)),
    "group_by": (gpuprims.group_by, (KEYS, WEIGHTS), (0, 0)),
    "reduce by": (lambda x, by, **how: gpuprims.reduce(x, by=by, **how), (WEIGHTS, KEYS), (0,)),
    "scan by": (lambda x, by, **how: gpuprims.scan(x, by=by, **how), (WEIGHTS, KEYS), (None,)),
    "bincount": (gpuprims.bincount, (ROW,), (0,)),
    "bincount with weights": (lambda x, w, **how: gpuprims.bincount(x, w, 50, **how), (ROW, WEIGHTS), (0,)),
    "bincount of rows": (lambda x, **how: gpuprims.bincount(x, axis=1, **how), (X.astype(np.uint8),), (1,)),
    "histogram": (lambda x, **how: gpuprims.histogram(x, 9, (0, 9), **how)[:1], (X,), (None,)),
    "histogram of segments": (
        lambda x, **how: gpuprims.histogram(x, 9, (0, 9), segments=[0, 70, 3000], **how)[:1], (ROW,), (None,),
    ),
    "histogram, density": (lambda x, **how: gpuprims.histogram(x, 9, density=True, **how)[:1], (X,), (None,)),
    "histogram2d": (lambda x, y, **how: gpuprims.histogram2d(x, y, [4, 5], **how)[:1], (ROW, KEYS), (None,)),
    "hash_counts": (lambda ids, **how: gpuprims.hash_counts(ids, 16, segments=[0, 9, 3000], **how), (ROW,), (None,)),
    "sort by a key": (lambda x, **how: gpuprims.sort(x, key="-x", **how), (ROW,), (None,)),
    "sort_by_key by a key": (
        lambda x, v, **how: gpuprims.sort_by_key(x, v, key="-x", **how), (ROW, WEIGHTS), (None, None),
    ),
    "sort of segments": (lambda x, **how: gpuprims.sort(x, segments=[0, 70, 3000], **how), (ROW,), (None,)),
    "argsort of segments": (lambda x, **how: gpuprims.argsort(x, 0, segments=[0, 70, 300], **how), (X,), (None,)),
    "reduce of segments": (lambda x, **how: gpuprims.reduce(x, axis=0, segments=[0, 9, 300], **how), (X,), (None,)),
    "scan of segments": (lambda x, **how: gpuprims.scan(x, axis=1, segments=[0, 3, 7], **how), (X,), (None,)),
}  # fmt: skip
each = pytest.mark.parametrize("name", CALLS)
KINDS = ["as long as the arrays", "just so long", "strided"]
MARK = 77


def results_of(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def longer(result: Any, axis: int | None, more: int) -> np.ndarray:
    """Return an array like a result, with some more elements along an axis, that has a number everywhere."""
    shape = [n + more * (k == axis) for k, n in enumerate(np.shape(result))]
    return np.full(shape, MARK, np.asarray(result).dtype)


def in_two(array: np.ndarray) -> np.ndarray:
    """Return every second element along the last axis of an array twice as long."""
    return np.full((*array.shape[:-1], 2 * array.shape[-1]), MARK, array.dtype)[..., ::2]


def checked(out: np.ndarray, result: Any, axis: int | None) -> None:
    """Check that the beginning of an array is a result, and that nothing was written behind it."""
    part = (slice(None),) * (axis or 0) + (slice(None) if axis is None else slice(np.shape(result)[axis]),)
    assert_equal(out[part], result)
    left = out.copy()
    left[part] = MARK
    assert_equal(left, np.full_like(left, MARK))


@each
@pytest.mark.parametrize("kind", KINDS)
def test_results_fill_the_beginning(device: gpuprims.Device, name: str, kind: str) -> None:
    need(device, "float64")
    fills_the_beginning(device, name, kind)


@each
def test_every_function_fills_the_beginning(name: str) -> None:
    for kind in KINDS:
        fills_the_beginning(gpuprims.Device("reference"), name, kind)


def fills_the_beginning(device: gpuprims.Device, name: str, kind: str) -> None:
    """Check results in arrays of ``out=`` of a kind, in two calls."""
    call, arrays, axes = CALLS[name]
    expected = results_of(call(*arrays, device=device))
    more = 3000 if kind == "as long as the arrays" else 0 if kind == "just so long" else 5
    outs = tuple(longer(one, axis, more) for one, axis in zip(expected, axes, strict=True))
    outs = tuple(map(in_two, outs)) if kind == "strided" else outs
    for _ in range(2):
        found = results_of(call(*arrays, out=outs if len(outs) > 1 else outs[0], device=device))
        for got, out, wanted, axis in zip(found, outs, expected, axes, strict=True):
            assert_equal(got, wanted)
            assert np.shares_memory(got, out) or not got.size
            assert (got is out) == (axis is None)
            checked(out, wanted, axis)


@each
def test_results_fill_arrays_of_a_device(device: gpuprims.Device, name: str) -> None:
    need(device, "float64")
    call, arrays, axes = CALLS[name]
    expected = results_of(call(*arrays, device=device))
    there = [on_device(device, one) for one in arrays]
    for more in (3000, 3000, 5):  # the second call is known by its arrays
        outs = tuple(on_device(device, longer(one, axis, more)) for one, axis in zip(expected, axes, strict=True))
        found = results_of(call(*there, out=outs if len(outs) > 1 else outs[0]))
        for got, out, wanted, axis in zip(found, outs, expected, axes, strict=True):
            assert (got.shape, got.dtype) == (np.shape(wanted), wanted.dtype)
            if axis != 1 and np.size(wanted):  # pyopencl reads no array with gaps
                assert_equal(on_host(device, got), wanted)
            checked(on_host(device, out), wanted, axis)


@each
def test_out_that_does_not_fit_is_refused_before_it_is_written(name: str) -> None:
    call, arrays, axes = CALLS[name]
    expected = results_of(call(*arrays, device="reference"))
    outs = [longer(one, axis, 0) for one, axis in zip(expected, axes, strict=True)]

    def given(*changed: np.ndarray) -> Any:
        return tuple(changed) if len(changed) > 1 else changed[0]

    if outs[0].size:
        with pytest.raises(ShapeError, match=r"out= of the result's shape.*; got"):
            call(*arrays, out=given(outs[0][..., :-1].copy(), *outs[1:]), device="reference")
    with pytest.raises(ShapeError, match=r"out= of the result's shape.*; got"):
        call(*arrays, out=given(outs[0][None].copy(), *outs[1:]), device="reference")
    with pytest.raises(DtypeError, match="out= of the result's dtype"):
        call(*arrays, out=given(outs[0].astype(np.complex128), *outs[1:]), device="reference")
    with pytest.raises(ArgumentError, match=r"out= \d array\(s\), one for each result"):
        call(*arrays, out=(*outs, outs[0].copy()), device="reference")
    assert all((out == MARK).all() for out in outs)


def test_out_in_memory_of_an_input_is_refused(device: gpuprims.Device) -> None:
    x = np.arange(9, dtype=np.float32)
    with pytest.raises(ArgumentError, match="compact: out= apart from the arrays in memory"):
        gpuprims.compact(x, "x > 3", out=x, device=device)
    if device.driver.shares_host_memory:
        return
    with pytest.raises(DeviceMismatchError, match="out= on the host"):
        gpuprims.compact(x, "x > 3", out=on_device(device, x), device=device)


def test_out_of_torch_is_filled() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([3, 0, 4, 0, 3], dtype=torch.float32)
    out = torch.zeros(9)
    found = gpuprims.compact(x, "x > 0", out=out, device="reference")
    assert isinstance(found, torch.Tensor)
    assert found.data_ptr() == out.data_ptr()
    assert out.tolist() == [3, 4, 3, 0, 0, 0, 0, 0, 0]
    where = torch.zeros(5, dtype=torch.int64)
    (places,) = gpuprims.nonzero(x, out=(where,), device="reference")
    assert places.tolist() == [0, 2, 4]
    assert where.tolist() == [0, 2, 4, 0, 0]


def test_edges_come_beside_counts_in_out() -> None:
    counts = np.empty((2, 2))
    found, edges = gpuprims.histogramdd([[1, 2, 2], [1, 1, 2]], 2, out=counts, device="reference")
    assert found is counts
    assert counts.tolist() == [[1, 0], [1, 1]]
    assert [one.tolist() for one in edges] == [[1, 1.5, 2]] * 2
