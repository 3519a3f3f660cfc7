"""Warm calls on tensors: those of torch, and where it is not installed, of a class that stands in for it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import gpuprims
from gpuprims import ndimage, xp
from gpuprims.core import arrays as core_arrays
from gpuprims.core.call_keys import key_of_any
from gpuprims.core.guests import GuestKey, is_guest
from gpuprims.core.program_cache import forget_calls
from gpuprims.core.tensors import facts_of
from gpuprims.errors import ArgumentError

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


class Place(NamedTuple):
    """torch.device."""

    type: str = "cpu"
    number: int | None = None


class Tensor:
    """What warm calls ask a tensor, over a NumPy array."""

    device = Place()
    lazy = requires_grad = False

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)
        self.dtype, self.shape, self.ndim = f"torch.{self.array.dtype}", self.array.shape, self.array.ndim
        self.nbytes, self.detach, self.is_neg = self.array.nbytes, lambda: self, lambda: False

    def is_conj(self) -> bool:
        return self.lazy

    def stride(self) -> tuple[int, ...]:
        return tuple(stride // self.array.itemsize for stride in self.array.strides)

    def numpy(self) -> Any:
        return self.array

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)


Tensor.__module__ = "torch"


CALLS = {
    "reduce": lambda a, on: gpuprims.reduce(a.x, **on),
    "reduce, two arrays": lambda a, on: gpuprims.reduce(a.x, a.y, map="x*y", **on),
    "minmax": lambda a, on: gpuprims.reduce(a.x, op="minmax", **on),
    "scan": lambda a, on: gpuprims.scan(a.x, **on),
    "map and a number": lambda a, on: gpuprims.map("x*y", a.x, 2.5, **on),
    "compact": lambda a, on: gpuprims.compact(a.x, "x > 0", **on),
    "unique": lambda a, on: gpuprims.unique(a.x, **on),
    "diff": lambda a, on: gpuprims.diff(a.x, **on),
    "histogram2d": lambda a, on: gpuprims.histogram2d(a.x, a.y, 10, ((-3, 3), (-3, 3)), **on),
    "count_nonzero": lambda a, on: gpuprims.count_nonzero(a.x, **on),
    "histogram": lambda a, on: gpuprims.histogram(a.x, 10, (-3, 3), **on),
    "sort_by_key": lambda a, on: gpuprims.sort_by_key(a.x, a.y, **on),
    "top_k": lambda a, on: gpuprims.top_k(a.x, 5, **on),
    "median": lambda a, on: gpuprims.median(a.x, **on),
    "gaussian_filter": lambda a, on: ndimage.gaussian_filter(a.x, 1.0, **on),
    "histogram, edges": lambda a, on: gpuprims.histogram(a.x, a.edges, **on),
    "bincount": lambda a, on: gpuprims.bincount(a.numbers, **on),
    "bincount, weights": lambda a, on: gpuprims.bincount(a.numbers, a.x, **on),
    "digitize": lambda a, on: gpuprims.digitize(a.x, a.edges, **on),
    "isin": lambda a, on: gpuprims.isin(a.numbers, a.others, **on),
    "convolve": lambda a, on: gpuprims.convolve(a.x, a.edges, **on),
    "xp.where": lambda a, on: xp.where(xp.greater(a.x, a.y), a.x, a.y),
}


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the stand-in be torch."""
    readers = {"from_dlpack": lambda given: Tensor(np.from_dlpack(given)), "from_numpy": Tensor}
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor, **readers))
    forget_calls()
    yield
    forget_calls()


def arguments(rng: np.random.Generator, step: int = 1) -> SimpleNamespace:
    """Return arrays for CALLS, every ``step``-th element of longer ones."""
    x, y = (rng.standard_normal(300 * step).astype(np.float32)[::step] for _ in range(2))
    numbers, others = (rng.integers(0, 40, 300 * step).astype(np.int32)[::step] for _ in range(2))
    return SimpleNamespace(x=x, y=y, numbers=numbers, others=others, edges=np.linspace(-3, 3, 9, dtype=np.float32))


def told_by(make: Callable[[Any], Any], given: SimpleNamespace) -> SimpleNamespace:
    """Return arguments as another library's arrays."""
    return SimpleNamespace(**{name: make(array) for name, array in vars(given).items()})


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
            given = arguments(rng, step)
            found = CALLS[name](told_by(Tensor, given), on)
            assert same(found, CALLS[name](given, on), Tensor)
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


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@needs_torch
def test_tensors_of_torch(device: gpuprims.Device, rng: np.random.Generator, name: str, dtype: str) -> None:
    torch = importlib.import_module("torch")
    if dtype == "bfloat16" and name not in ("reduce", "scan", "map and a number"):
        pytest.skip("is for elements with an order")
    where = device.spec if device.backend == "cuda" else "cpu"
    on = {} if name.startswith("xp") or device.backend == "cuda" else {"device": device}
    for _ in range(3):
        given = told_by(lambda array: torch.from_numpy(array).to(where), arguments(rng))
        given.x, given.y = given.x.to(getattr(torch, dtype)), given.y.to(getattr(torch, dtype)).requires_grad_()
        forget_calls()
        expected = CALLS[name](given, on)
        for _ in range(2):
            assert_alike(torch, CALLS[name](given, on), expected)


INTO = {
    "map": lambda x, out, on: gpuprims.map("2*x + 1", x, out=out, **on),
    "scan": lambda x, out, on: gpuprims.scan(x, out=out, **on),
    "sort": lambda x, out, on: gpuprims.sort(x, out=out, **on),
    "two results": lambda x, out, on: gpuprims.map("x + 1, 2*x", x, out=(out, Tensor(np.zeros_like(out.array))), **on)[
        0
    ],
}


def copied(tensor: Tensor) -> Tensor:
    return Tensor(tensor.array.copy())


@pytest.mark.parametrize("name", INTO)
def test_writing_to_tensors(device: gpuprims.Device, torch: None, rng: np.random.Generator, name: str) -> None:
    on = {"device": device}
    into = Tensor(np.zeros(300, np.float32))
    for turn in range(4):
        x = rng.standard_normal(300).astype(np.float32)
        expected = INTO[name](Tensor(x), Tensor(np.zeros_like(x)), on)
        assert INTO[name](Tensor(x), into, on) is into
        assert same(into, expected.array, Tensor)
        whole = Tensor(rng.standard_normal(316).astype(np.float32))
        with pytest.raises(ArgumentError, match="overlaps"):
            INTO[name](Tensor(whole.array[:300]), Tensor(whole.array[16:]), on)
        if turn == 2:
            into.requires_grad = True
            with pytest.raises(ArgumentError, match="requires_grad"):
                INTO[name](Tensor(x), into, on)
            into.requires_grad = False


def test_in_place(device: gpuprims.Device, torch: None) -> None:
    x = Tensor(np.arange(300, dtype=np.float32))
    for _ in range(4):
        expected = 2 * x.array + 1
        assert gpuprims.map("2*x + 1", x, out=x, device=device) is x
        np.testing.assert_array_equal(x.array, expected)


@needs_torch
def test_streams_of_torch(device: gpuprims.Device) -> None:
    if device.backend != "cuda":
        pytest.skip("is about streams of a CUDA GPU")
    torch, cupy = (importlib.import_module(name) for name in ("torch", "cupy"))
    x = torch.zeros(2**24, device=device.spec)
    for theirs, own in ((False, False), (True, False), (False, True), (True, True)):
        stream = torch.cuda.Stream() if theirs else torch.cuda.default_stream()
        with torch.cuda.stream(stream), cupy.cuda.Stream(non_blocking=True) if own else nullcontext():
            for turn in range(20):
                x.fill_(turn)
                found = gpuprims.map("x + 1", x)
                assert found[-1].item() == turn + 1
                assert gpuprims.reduce(x, op="max").item() == turn
                assert gpuprims.map("x + 1", x, out=x) is x
                assert x[-1].item() == turn + 1


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
