"""Keys of warm calls in C: they are those that Python makes."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpuprims.core import c_modules, quick_keys
from gpuprims.core.call_keys import key_of, key_of_any
from gpuprims.core.device import DEFAULT, Device, pick_device
from gpuprims.core.device_specs import FOUND
from gpuprims.core.registry import REGISTRY
from gpuprims.core.warm_calls import WarmCalls, _look_up
from gpuprims.errors import UnknownDeviceError
from gpuprims.expressions.expr import COMPUTABLE

REST = tuple(COMPUTABLE), FOUND, Device, Device._known


class Array:
    """An array of a device."""


def facts_of(array: Array) -> tuple[str, int]:
    return "facts", id(array)


@pytest.fixture(scope="module")
def binary() -> bytes:
    if c_modules.why_not() is not None:
        pytest.skip(str(c_modules.why_not()))
    return c_modules.compiled(quick_keys.KEYS.source)


@pytest.fixture
def keys(binary: bytes, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(WarmCalls, "key_of", staticmethod(key_of))
    monkeypatch.setattr(REGISTRY, "facts_by_class", facts := {Array: facts_of})
    module: Any = c_modules.loaded("keys", binary)
    module.use_keys(facts, key_of_any, pick_device, DEFAULT, *REST)
    return module


def host_arrays() -> dict[str, tuple[Any, ...]]:
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    fixed = x.copy()
    fixed.flags.writeable = False
    return {
        "contiguous": (x,),
        "two": (x, x.astype(np.float16)),
        "in Fortran order": (x.T,),
        "strided and reversed": (x[:, ::-2],),
        "broadcast": (x, np.broadcast_to(x[0], x.shape)),
        "read-only": (fixed,),
        "of two classes of bytes": (x.astype(">f4"),),
        "no numbers": (np.array(["a"]),),
        "apart by half an element": (np.zeros(9, "i4,i2")["f0"],),
        "empty": (x[:0],),
        "far apart along axes of one element": (np.lib.stride_tricks.as_strided(x, (1, 1, 8), (2**62, 2**62, 8)),),
        "as far apart as can be": (np.lib.stride_tricks.as_strided(x, (1, 8), (-(2**63), 8)),),
        "without axes": (np.float32(3)[...],),
        "beside one without axes": (x, np.float32(3)[...]),
        "large": (np.zeros((1 << 24) + 1, np.uint8),),
        "beside numbers": (x, 2.5, True),
        "beside NumPy's numbers": (x, np.float64(2)),
        "complex, long and bool": (x.astype(complex), x.astype(np.longlong), x > 3),
        "of a device": (Array(), Array()),
        "three of a device": (Array(), Array(), Array()),
        "of a device beside numbers": (Array(), 2, 2.0, True, 1j, np.int8(3), np.bool(True)),
        "numbers alone": (2, np.float32(3)),
        "beside no number": (x, np.str_("a")),
        "mixed": (Array(), x),
        "a list": ([1, 2],),
        "nothing": (),
    }


@pytest.mark.parametrize("name", host_arrays())
@pytest.mark.parametrize("device", [None, "reference"])
def test_keys_are_those_of_python(keys: Any, name: str, device: str | None) -> None:
    arrays = host_arrays()[name]
    assert keys.key_of("keywords", arrays, device) == key_of("keywords", arrays, device)


def test_the_device_of_now_decides(keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import gpuprims

    x = (np.zeros(3),)
    found = keys.key_of("keywords", x)[1]
    assert found is gpuprims.Device()
    with gpuprims.use_device("reference"):
        assert keys.key_of("keywords", x)[1] is gpuprims.Device("reference")
    monkeypatch.setenv("GPUPRIMS_DEVICE", "reference")
    assert keys.key_of("keywords", x)[1] is gpuprims.Device("reference")
    monkeypatch.delenv("GPUPRIMS_DEVICE")
    assert keys.key_of("keywords", x)[1] is found


def test_devices_of_earlier_calls_are_found_without_python(keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[Any]()

    def pick(on: Device | None, device: Any) -> Device:
        asked.append(device)
        return pick_device(on, device)

    keys.use_keys({}, key_of_any, pick, DEFAULT, *REST)
    x, device = (np.zeros(3),), Device("reference")
    for spec in ("reference", device):
        assert keys.key_of("keywords", x, spec)[1] is device
    monkeypatch.setenv("GPUPRIMS_DEVICE", "reference")
    assert keys.key_of("keywords", x)[1] is device
    assert not asked
    monkeypatch.setenv("GPUPRIMS_DEVICE", "no such device")
    with pytest.raises(UnknownDeviceError, match="GPUPRIMS_DEVICE"):
        keys.key_of("keywords", x)
    FOUND.pop("reference:0", None)
    assert keys.key_of("keywords", x, "reference:0")[1] is device
    assert asked == [None, "reference:0"]
    with pytest.raises(UnknownDeviceError):
        keys.key_of("keywords", x, 3)
    monkeypatch.delitem(FOUND, "reference")  # as after a fork
    assert keys.key_of("keywords", x, "reference")[1] is device
    assert asked[2:] == [3, "reference"]


def test_calls_are_looked_up_as_by_python(keys: Any) -> None:
    arrays: Any = (np.zeros(4), np.zeros(4))
    run: Any = object()
    key = keys.key_of("keywords", arrays)
    for look_up in (keys.look_up, _look_up):
        assert look_up({key: run}, "keywords", arrays, None) == (key, arrays, run)
        assert look_up({key: run}, "others", arrays, None) == (("others", *key[1:]), arrays, None)
        assert look_up({key: run}, "keywords", (1, 2), None) == (None, (1, 2), None)
        assert look_up({key: run}, ["no hash"], arrays, None)[2] is None


def test_errors_are_raised(keys: Any) -> None:
    def fail(array: Any) -> Any:
        raise RuntimeError("gone")

    keys.use_keys({Array: fail}, key_of_any, pick_device, DEFAULT, *REST)
    with pytest.raises(RuntimeError, match="gone"):
        keys.key_of("keywords", (Array(),))
    broken = SimpleNamespace()
    keys.use_keys({}, key_of_any, pick_device, broken, *REST)
    with pytest.raises(AttributeError, match="chosen"):
        keys.key_of("keywords", (np.zeros(3),))


def test_keys_keep_no_references(keys: Any) -> None:
    x, y, one = np.zeros((3, 4)), np.zeros((4, 3)).T, Array()
    watched = [x, y, one, x.dtype, facts_of, DEFAULT, WarmCalls]
    for _ in range(2):
        before = [sys.getrefcount(each) for each in watched]
        for _ in range(50):
            keys.key_of("keywords", (x, y))
            keys.key_of("keywords", (x, 3))
            keys.key_of("keywords", (one, x))
            keys.look_up({}, "keywords", (one,), None)
    assert [sys.getrefcount(each) for each in watched] == before
