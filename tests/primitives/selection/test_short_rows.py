"""selection/lanes and selection/sorted, for short rows on GPUs, on CPUs that they refuse in use."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_cases import on_device, on_host, random_values

import gpuprims
from gpuprims.cli.text_driver import usual_device
from gpuprims.core.geometry import first_refusal
from gpuprims.core.registry import REGISTRY
from gpuprims.primitives.selection.traits import SelectionTraits


@pytest.mark.parametrize("dtype", ["i1", "u2", "f2", "i4", "f4", "i8", "f8"])
@pytest.mark.parametrize(("name", "length"), [("lanes", 1), ("lanes", 2), ("lanes", 8), ("sorted", 3), ("sorted", 70)])
def test_ranks(device: gpuprims.Device, name: str, length: int, dtype: str, rng: np.random.Generator) -> None:
    found = [one for one in REGISTRY.variants("selection", device.backend) if one.name == name]
    if not found:
        pytest.skip("the reference has no kernels")
    x = random_values(rng, np.dtype(dtype), (150, length)) // 2
    x[rng.random(x.shape) < 0.3] = 1
    with REGISTRY.outranking(replace(found[0], refuse=first_refusal(), yields=None)), gpuprims.profile() as seen:
        there = on_device(device, x)
        got = gpuprims.quantile(there, [0.0, 0.4, 1.0], axis=1, method="lower", device=device)
        assert np.array_equal(on_host(device, got), np.quantile(x, [0.0, 0.4, 1.0], axis=1, method="lower"))
        columns = gpuprims.median(on_device(device, np.ascontiguousarray(x.T)), axis=0, device=device)
        assert np.array_equal(on_host(device, columns), np.median(x, axis=1))
        if dtype[0] == "f":
            x[rng.random(x.shape) < 0.2] = np.nan
            got = gpuprims.median(on_device(device, x), axis=1, device=device)
            assert np.array_equal(on_host(device, got), np.median(x, axis=1), equal_nan=True)
    kernels = {one.kernel for one in seen.launches}
    assert any(f"selection/{name}" in kernel for kernel in kernels)
    assert not any("selection/NumPy" in kernel for kernel in kernels)


def test_rows_left_to_other_variants() -> None:
    able, dtype = replace(usual_device("gpu", 32), compute_units=10), (np.dtype(np.float32),)
    variants = {one.name: one for one in REGISTRY.variants("selection", "cuda")}

    def chosen(size: int, outputs: int, axes: int = 1) -> list[str]:
        call = SelectionTraits(dtype, size, outputs, axes=axes)
        names = [name for name in ("lanes", "sorted") if variants[name].refuse(able, call) is None]
        pays = variants["sorted"].yields
        assert pays is not None
        return [name for name in names if name == "lanes" or pays(able, call) is None]

    assert chosen(64, 80) == ["lanes", "sorted"]
    assert chosen(65, 80) == chosen(4096, 80) == ["sorted"]
    assert chosen(4097, 80) == chosen(65, 79) == chosen(65, 80, axes=2) == []
    assert chosen(64, 80, axes=2) == ["lanes"]
