"""Warm calls on tensors: those of torch, and where it is not installed, of a class that stands in for it."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import gpuprims
from gpuprims import ndimage, xp
from gpuprims.core import arrays as core_arrays
from gpuprims.core.call_keys import key_of_any
from gpuprims.core.guests import GuestKey, facts_of, is_guest
from gpuprims.core.program_cache import forget_calls


class Place(NamedTuple):
    """torch.device."""

    type: str = "cpu"
    number: int | None = None


class Tensor:
    """What warm calls ask a tensor, over a NumPy array."""

    device = Place()
    lazy = False

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)
        self.dtype, self.shape, self.ndim = f"torch.{self.array.dtype}", self.array.shape, self.array.ndim
        self.nbytes, self.detach, self.is_neg = self.array.nbytes, lambda: self, lambda: False

    def is_conj(self) -> bool:
        return self.lazy

    def stride(self) -> tuple[int, ...]:
        return tuple(stride // self.array.itemsize for stride in self.array.strides)

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)


Tensor.__module__ = "torch"

CALLS = {
    "reduce": lambda x, y, on: gpuprims.reduce(x, **on),
    "reduce, two arrays": lambda x, y, on: gpuprims.reduce(x, y, map="x*y", **on),
    "minmax": lambda x, y, on: gpuprims.reduce(x, op="minmax", **on),
    "scan": lambda x, y, on: gpuprims.scan(x, **on),
    "map and a number": lambda x, y, on: gpuprims.map("x*y", x, 2.5, **on),
    "compact": lambda x, y, on: gpuprims.compact(x, "x > 0", **on),
    "unique": lambda x, y, on: gpuprims.unique(x, **on),
    "diff": lambda x, y, on: gpuprims.diff(x, **on),
    "histogram2d": lambda x, y, on: gpuprims.histogram2d(x, y, 10, ((-3, 3), (-3, 3)), **on),
    "count_nonzero": lambda x, y, on: gpuprims.count_nonzero(x, **on),
    "histogram": lambda x, y, on: gpuprims.histogram(x, 10, (-3, 3), **on),
    "sort_by_key": lambda x, y, on: gpuprims.sort_by_key(x, y, **on),
    "top_k": lambda x, y, on: gpuprims.top_k(x, 5, **on),
    "median": lambda x, y, on: gpuprims.median(x, **on),
    "gaussian_filter": lambda x, y, on: ndimage.gaussian_filter(x, 1.0, **on),
    "xp.where": lambda x, y, on: xp.where(xp.greater(x, y), x, y),
}


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the stand-in be torch."""
    stand_in = SimpleNamespace(Tensor=Tensor, from_dlpack=lambda array: Tensor(np.from_dlpack(array)))
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    forget_calls()
    yield
    forget_calls()


def same(found: Any, expected: Any, kind: type) -> bool:
    """Return True for tensors with the bits of arrays, in the same tuples; numbers may be as they are."""
    if isinstance(expected, tuple):
        return type(found) is tuple and all(same(a, b, kind) for a, b in zip(found, expected, strict=True))
    if not isinstance(found, kind):
        return type(found) is type(expected) and found == expected
    array = found.array if kind is Tensor else found.cpu().numpy()
    wanted = np.asarray(expected)
    return (array.dtype, array.shape, array.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())


@pytest.mark.parametrize("name", CALLS)
def test_later_calls_return_tensors(
    device: gpuprims.Device, torch: None, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    on = {} if name.startswith("xp") else {"device": device}
    for turn in range(3):
        for step in (1, 2):
            x, y = (rng.standard_normal(300 * step).astype(np.float32)[::step] for _ in range(2))
            found = CALLS[name](Tensor(x), Tensor(y), on)
            assert same(found, CALLS[name](x, y, on), Tensor)
        if turn == 0 and device.driver.shares_host_memory:  # a first call asks how to return tensors
            monkeypatch.setattr(core_arrays, "reader_of", lambda label, array: pytest.fail("not a later call"))


def test_what_keys_tell(torch: None) -> None:
    x = np.zeros((4, 6), np.float32)

    def key(tensor: Any, *more: Any) -> Any:
        return key_of_any("sum", (tensor, *more), "reference")

    assert type(key(Tensor(x))) is GuestKey
    assert key(Tensor(x)) == key(Tensor(np.ones_like(x)))
    others = [Tensor(x.T), Tensor(x[:, ::2]), Tensor(x.astype("i4")), Tensor(x[:3])]
    others[0].device = Place("cuda", 0)
    keys = [key(one) for one in (Tensor(x), *others)]
    assert len({*keys}) == len(keys)
    assert key(Tensor(x)) != key(x)
    assert key(Tensor(x), 2.5) != key(Tensor(x), 2)
    for nothing in (Tensor(np.float32(1)), Tensor(x[:0]), others[0]):
        assert key(nothing, x) is None


def test_calls_that_are_not_kept(torch: None) -> None:
    class Other(Tensor):
        pass

    x = np.arange(9.0)
    assert is_guest(Tensor)
    assert not is_guest(Other)
    assert key_of_any("sum", (Other(x),), "reference") is None
    lazy, away = Tensor(x), Tensor(x)
    lazy.lazy, away.device = True, Place("meta")
    assert facts_of(lazy) is facts_of(away) is None

    def no_memory() -> int:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    away = Tensor(x)
    away.data_ptr = no_memory  # type: ignore[method-assign]
    assert facts_of(away) is None
    into = Tensor(np.zeros(9))
    for _ in range(3):
        into.array[:] = 0
        gpuprims.scan(Tensor(x), out=into, device="reference")
        assert (into.array == np.cumsum(x)).all()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_tensors_of_torch(device: gpuprims.Device, rng: np.random.Generator, name: str, dtype: str) -> None:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        pytest.skip("torch is not installed")
    if dtype == "bfloat16" and name not in ("reduce", "scan", "map and a number"):
        pytest.skip("is for elements with an order")
    where = device.spec if device.backend == "cuda" else "cpu"
    on = {} if name.startswith("xp") or device.backend == "cuda" else {"device": device}
    for _ in range(3):
        x, y = (torch.from_numpy(rng.standard_normal(300).astype(np.float32)).to(where) for _ in range(2))
        x, y = x.to(getattr(torch, dtype)), y.to(getattr(torch, dtype)).requires_grad_()
        forget_calls()
        expected = CALLS[name](x, y, on)
        for _ in range(2):
            found = CALLS[name](x, y, on)
            assert_alike(torch, found, expected)


def assert_alike(torch: Any, found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(found, tuple):
        for one, other in zip(found, expected, strict=True):
            assert_alike(torch, one, other)
    elif isinstance(found, torch.Tensor):
        assert (found.dtype, found.device) == (expected.dtype, expected.device)
        assert torch.equal(found, expected)
    else:
        assert found == expected
