"""random: the published words, the same bits on every device, and numbers as they are promised."""

from __future__ import annotations

import re
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from kernel_cases import assert_equal, need, on_device, on_host, two_groups

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError, DtypeError, ShapeError, UnknownKeywordError
from gpuprims.primitives.philox import plan
from gpuprims.primitives.philox.reference import philox

# Random123's vectors of philox4x32 with 10 rounds: counter, key, words.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
EVERY: dict[str, dict[str, Any]] = {
    "uniform float32": {"dtype": "float32"},
    "uniform float64": {},
    "normal float32": {"kind": "normal", "dtype": "float32"},
    "normal float64": {"kind": "normal"},
    "words of 32 bits": {"kind": "bits", "dtype": "uint32"},
    "words of 64 bits": {"kind": "bits"},
    "dice": {"kind": "integers", "low": 1, "high": 7},
    "int8": {"kind": "integers", "low": -128, "high": 128, "dtype": "int8"},
    "the upper uint64": {"kind": "integers", "low": 2**64 - 2**32, "high": 2**64, "dtype": "uint64"},
}


def words_of(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_the_published_words(counter: str, key: str, expected: str) -> None:
    assert philox(words_of(counter), words_of(key)).tolist() == words_of(expected)


def test_words_are_those_of_the_counter(device: gpuprims.Device) -> None:
    assert gpuprims.random(0, 4, "bits", dtype="uint32", device=device).tolist() == words_of(KNOWN[0][2])
    key, stream = 0x0123456789ABCDEF, 0xFEDCBA9876543210
    counter = np.arange(2500), 0, stream % 2**32, stream >> 32
    expected = philox(counter, (key % 2**32, key >> 32)).reshape(-1)
    got = gpuprims.random((key, stream), 9999, "bits", dtype="uint32", device=device)
    assert_equal(got, expected[:9999])
    wide = gpuprims.random((key, stream), 4999, "bits", device=device)
    assert_equal(wide, expected.view(np.uint64)[:4999])


@pytest.mark.parametrize("case", EVERY)
def test_the_same_bits_on_every_device_at_every_size(device: gpuprims.Device, case: str) -> None:
    keywords, key = EVERY[case], (2**64 - 5, 2**63 + 1)
    need(device, keywords.get("dtype", "float64" if "float" in case else "int64"))
    whole = gpuprims.random(key, 9001, device="reference", **keywords)
    for shape in (0, 1, 2, 3, 4, 5, 4095, 4096, 4097, (), (3, 5), (91, 97)):
        n = int(np.prod(shape))
        assert_equal(np.asarray(gpuprims.random(key, shape, device=device, **keywords)), whole[:n].reshape(shape))


@pytest.mark.parametrize("items", [4, 16, 64, 128])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_whole_tiles_and_parts(
    device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch, dtype: str, items: int
) -> None:
    if device.backend == "reference":
        pytest.skip("the reference device has no groups")
    need(device, dtype)
    monkeypatch.setattr(plan, "_FEWER", 2**20)  # few numbers take as many items as many
    variant = REGISTRY.variants("philox", device.backend)[0].resized(block=64, items=items)
    whole = gpuprims.random(9, 3 * variant.tile + 1, dtype=dtype, device="reference")
    for n in (variant.tile - 1, variant.tile, variant.tile + 1, 2 * variant.tile, whole.size):
        assert_equal(gpuprims.random(9, n, dtype=dtype, device=device, variant=variant), whole[:n])


def test_few_numbers_fill_the_device() -> None:
    able = usual_device("gpu", 32)
    chosen = REGISTRY.variants("philox", "cuda")[0]
    full = 8 * able.compute_units * chosen.block  # work-items
    sizes = (1, 4 * full, 4 * full + 1, 16 * full, 16 * full + 1)
    assert [plan._fitted(chosen, n, 4, able).items for n in sizes] == [4, 4, 16, 16, 64]
    assert plan._fitted(chosen.resized(items=32), 1, 2, able).items == 2


def test_several_groups_take_turns(device: gpuprims.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    if device.backend == "reference":
        pytest.skip("the reference device has no groups")
    n = 13 * REGISTRY.variants("philox", device.backend)[0].tile + 5
    with two_groups(device, monkeypatch):
        assert_equal(gpuprims.random(3, n, dtype="float32", device=device), reference(3, n, dtype="float32"))


def reference(*arguments: Any, **keywords: Any) -> Any:
    return gpuprims.random(*arguments, device="reference", **keywords)


def test_to_arrays_of_the_caller(device: gpuprims.Device) -> None:
    whole = np.full((80, 90), -1, np.float32)
    out = whole[3:70:2, 80:10:-3]
    assert gpuprims.random(5, out=out, device=device) is out
    assert_equal(out, reference(5, out.shape, dtype="float32"))
    assert (whole[::2] == -1).all()
    place = on_device(device, np.zeros(1001, np.float32))
    for key in (5, 6, (5, 1), np.uint64([7, 0])):
        assert gpuprims.random(key, out=place, device=device) is place
        assert_equal(on_host(device, place), reference(key, 1001, dtype="float32"))


def test_keys_on_a_device_plans_and_warm_calls(device: gpuprims.Device) -> None:
    planned = gpuprims.plan("random", on_device(device, np.uint64([0, 0])), 500, dtype="float32", device=device)
    for key in (1, (2, 3), 2**64 - 1):
        expected = reference(key, 500, dtype="float32")
        words = np.array(key if isinstance(key, tuple) else (key, 0), np.uint64)
        assert_equal(on_host(device, planned(on_device(device, words))), expected)
        for given in (key, words):
            assert_equal(gpuprims.random(given, 500, dtype="float32", device=device), expected)
        got = gpuprims.random(on_device(device, words), 500, dtype="float32", device=device)
        assert_equal(on_host(device, got), expected)


def test_uniform_numbers_fill_the_interval_evenly() -> None:
    for dtype, fraction in (("float32", 24), ("float64", 53)):
        x = reference(1, 2**18, dtype=dtype)
        steps = x.astype(np.float64) * 2.0**fraction
        assert (steps == np.floor(steps)).all()
        counts = np.bincount((x * 256).astype(int), minlength=256)
        assert counts.size == 256
        assert ((counts - 1024) ** 2 / 1024).sum() < 380  # chi squared; 0.9999999 of 255 degrees


def test_integers_are_as_frequent_as_each_other() -> None:
    x = reference(2, 60_000, "integers", low=-3, high=7)
    counts = np.bincount(x + 3)
    assert counts.size == 10
    assert ((counts - 6000) ** 2 / 6000).sum() < 50
    assert (reference(2, 9, "integers", low=5, high=6) == 5).all()


@pytest.mark.parametrize(("dtype", "error"), [("float32", 3e-7), ("float64", 6e-16)])
def test_normal_numbers_are_those_of_box_and_muller(dtype: str, error: float) -> None:
    size = np.dtype(dtype).itemsize
    words = reference(9, 40_000, "bits", dtype=f"u{size}").reshape(-1, 2)
    wide = words.astype(np.longdouble) + np.longdouble(0.5)
    radius = np.sqrt(-2 * np.log(wide[:, 0] * np.longdouble(2) ** (-8 * size)))
    angle = (words[:, 1] << np.array(2, f"u{size}")).view(f"i{size}") * (np.longdouble(2) ** (-8 * size) * np.pi / 2)
    right = np.cos(angle) * np.where(words[:, 1] >> np.array(8 * size - 1, f"u{size}"), -1, 1)
    swapped = (words[:, 1] >> np.array(8 * size - 2, f"u{size}") & np.array(1, f"u{size}")) == 1
    points = np.where(swapped[:, None], np.stack([np.sin(angle), right], -1), np.stack([right, np.sin(angle)], -1))
    got = reference(9, 40_000, "normal", dtype=dtype).reshape(-1, 2)
    assert (np.abs(got - radius[:, None] * points) <= error * radius[:, None]).all()


def test_normal_numbers_have_their_distribution() -> None:
    x = reference(3, 2**18, "normal", dtype="float32").astype(np.float64)
    edges = np.array([NormalDist().inv_cdf(k / 256) for k in range(1, 256)])
    for values in (x, x[::2], (x[::2] + x[1::2]) / np.sqrt(2), (x[:-2] - x[2:]) / np.sqrt(2)):
        counts = np.bincount(np.searchsorted(edges, values), minlength=256)
        expected = values.size / 256
        assert ((counts - expected) ** 2 / expected).sum() < 380  # chi squared; 0.9999999 of 255 degrees
    assert abs(np.corrcoef(x[::2], x[1::2])[0, 1]) < 0.015
    assert abs(np.corrcoef(x[::2] ** 2, x[1::2] ** 2)[0, 1]) < 0.015


WRONG: dict[str, tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = {
    "a negative key": ((-1, 3), {}, ArgumentError, "a key from 0 to 2**64 - 1, or a tuple of such a key and a stream"),
    "three words": (((1, 2, 3), 3), {}, ArgumentError, "got (1, 2, 3)"),
    "a short key": ((np.zeros(1, np.uint64), 3), {}, ArgumentError, "a key of two uint64"),
    "a negative shape": ((1, (2, -3)), {}, ShapeError, "a shape of integers from 0 on; got (2, -3)"),
    "no shape": ((1,), {}, ArgumentError, "a shape, or out=; got neither"),
    "a kind": ((1, 3, "gauss"), {}, ArgumentError, "kind= 'uniform', 'normal', 'bits' or 'integers'; got 'gauss'"),
    "a dtype": ((1, 3), {"dtype": "int32"}, DtypeError, "dtype= of uniform one of float64, float32; got int32"),
    "no range": ((1, 3, "integers"), {}, ArgumentError, "high= an integer, and low= an integer or 0"),
    "an empty range": ((1, 3, "integers"), {"high": 0}, ArgumentError, "low= less than high=, both from"),
    "a wide range": ((1, 3, "integers"), {"high": 2**33}, ArgumentError, "at most 2**32 apart; got 0 and 8589934592"),
    "a range of int8": ((1, 3, "integers"), {"high": 129, "dtype": "int8"}, ArgumentError, "from -128 to 128 for int8"),
    "a range of floats": ((1, 3), {"low": 2}, ArgumentError, "low= and high= for kind='integers' only"),
    "several arrays": ((1,), {"out": (np.zeros(3),)}, ArgumentError, "out= one array; got a tuple of 1"),
    "NumPy's keyword": ((1, 3), {"size": 3}, UnknownKeywordError, "keywords among key, shape, kind"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(device: gpuprims.Device, case: str) -> None:
    arguments, keywords, error, message = WRONG[case]
    with pytest.raises(error, match=re.escape(message)):
        gpuprims.random(*arguments, device=device, **keywords)
