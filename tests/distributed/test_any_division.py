"""Sums at the level "order": one value for any order of the elements, chunks, devices and slabs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.operators import as_map, find_op, make_folding, make_stages
from gpuprims.primitives.levels import at_level
from gpuprims.primitives.slabs import FoldSlabs

SPECIALS: dict[str, Any] = {
    "sums": [],
    "infinities": [np.inf, 1e-40],
    "nan": [np.nan, np.inf],
    "both": [np.inf, -np.inf],
}


def elements(rng: np.random.Generator, dtype: Any, *special: float) -> np.ndarray:
    """Return elements of far exponents that nearly cancel, some of them subnormal."""
    limits = np.finfo(dtype)
    wide = (rng.standard_normal(150) * 2.0 ** rng.integers(-60, 60, 150)).astype(dtype)
    least = rng.integers(-9, 9, 20).astype(dtype) * limits.smallest_subnormal
    return np.concatenate([wide, -wide[3:], least, np.array(special, dtype)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", SPECIALS)
def test_a_thousand_permutations_chunkings_and_merges_give_one_value(
    rng: np.random.Generator, kind: str, dtype: Any
) -> None:
    x = elements(rng, dtype, *SPECIALS[kind])
    with np.errstate(invalid="ignore"):
        exact = x.sum() if SPECIALS[kind] else dtype(math.fsum(x.astype(np.float64)))
    orders, divisions = (80, 20) if SPECIALS[kind] else (800, 200)
    device = gpuprims.Device()  # the machine's default
    group = gpuprims.DeviceGroup(["reference"] * 3)
    found = set()
    with gpuprims.use_determinism("order"):
        for _ in range(orders):
            found.add(np.asarray(gpuprims.reduce(rng.permutation(x), device=device)).tobytes())
        for number in range(divisions):
            y = rng.permutation(x)
            if number % 2:
                parts = np.split(y, np.sort(rng.integers(0, len(y), 2)))
                got = gpuprims.stream(parts, device="reference").reduce()
            else:
                got = group.reduce(group.scatter(y))
            found.add(np.asarray(got).tobytes())
    (one,) = found
    np.testing.assert_array_equal(np.frombuffer(one, dtype)[0], exact)


def test_running_sums_do_not_depend_on_the_devices(rng: np.random.Generator) -> None:
    x = elements(rng, np.float32)
    group = gpuprims.DeviceGroup(["reference"] * 3)
    with gpuprims.use_determinism("order"):
        whole = gpuprims.scan(x, device="reference")
        assert group.scan(group.scatter(x)).gather().tobytes() == whole.tobytes()
        chunks = list(gpuprims.stream(x, chunk=70, device="reference").scan())
        assert np.concatenate(chunks).tobytes() == whole.tobytes()
        mean = gpuprims.reduce(x, op="mean", device="reference")
        assert group.reduce(group.scatter(x), op="mean").tobytes() == mean.tobytes()


def test_slabs_of_arrays_larger_than_the_devices_memory(rng: np.random.Generator) -> None:
    x = elements(rng, np.float64).reshape(-1, 1)
    device = gpuprims.Device("reference")
    with gpuprims.use_determinism("order"):
        whole = at_level(make_folding(find_op("sum"), as_map("reduce", None, 1), (x.dtype,), None))
        slabs = FoldSlabs(device, make_stages(whole, (x.dtype,)), (0, 1), None, True, 400)
        (got,) = slabs.run([x])
        assert got.tobytes() == gpuprims.reduce(x, device=device).tobytes()
