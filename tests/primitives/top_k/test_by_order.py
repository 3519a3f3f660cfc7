"""top_k of many of the elements of NumPy arrays, by the order of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import need, random_values
from selection_cases import top_k_numpy

import gpuprims
from gpuprims.core.by_numpy import Few
from gpuprims.primitives.top_k import by_order


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((9000,), None), ((30, 400), None), ((40, 300), 1), ((300, 40), 0), ((3, 40, 50), -2)]
)
@pytest.mark.parametrize("largest", [False, True])
def test_values_and_places(
    device: gpuprims.Device,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    dtype: str,
    shape: tuple[int, ...],
    axis: int | None,
    *,
    largest: bool,
) -> None:
    asked = list[int]()

    def counted(x: np.ndarray, **how: Any) -> np.ndarray:
        asked.append(x.size)
        return gpuprims.argsort(x, **how)

    monkeypatch.setattr(by_order, "argsort", counted)
    x = random_values(rng, dtype, shape)
    if x.dtype.kind == "f":
        x.flat[::7], x.flat[1::11], x.flat[2::13] = np.nan, 0.0, -0.0
    n = x.size if axis is None else shape[axis]
    for given in (x, np.asfortranarray(x)):
        for k in (-(-n // 8), n):
            got = gpuprims.top_k(given, k, axis=axis, largest=largest, device=device)
            for one, expected in zip(got, top_k_numpy(given, k, axis, largest=largest), strict=True):
                assert one.flags.c_contiguous
                assert one.dtype == expected.dtype
                assert one.tobytes() == np.ascontiguousarray(expected).tobytes()  # zeros have their signs
    few = Few(near=1, woken=1).most(device.driver)
    assert len(asked) == (4 if few and device.driver.shares_host_memory else 0)


@pytest.mark.usefixtures("numpy_computes")
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float64"])
@pytest.mark.parametrize("n", [2**13 - 1, 2**13, 50_001])
def test_elements_beyond_a_pivot(device: gpuprims.Device, rng: np.random.Generator, dtype: str, n: int) -> None:
    """Many are equal, zeros have signs, and some rows have few NaN: fewer than are asked for, or more."""
    need(device, dtype)
    few = rng.integers(0, 9, n).astype(dtype)
    rows = [few, random_values(rng, dtype, n)]
    if few.dtype.kind == "f":
        nans, many = few.copy(), few.copy()
        few[rng.random(n) < 0.2], nans[5], many[rng.random(n) < 0.9] = -0.0, np.nan, np.nan
        rows += [nans, many]
    for x in rows:
        for k in (-(-n // 256), n // 20, n // 2 - 1, n // 2):
            for largest in (False, True):
                got = gpuprims.top_k(x, k, largest=largest, device=device)
                for one, expected in zip(got, top_k_numpy(x, k, None, largest=largest), strict=True):
                    assert one.tobytes() == np.ascontiguousarray(expected).tobytes()
