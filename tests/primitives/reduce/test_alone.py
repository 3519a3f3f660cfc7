"""reduce along axes of length 1, which is a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import AFFINE, DTYPES, assert_equal, on_device, on_host

import gpuprims

pytestmark = pytest.mark.filterwarnings(
    "ignore:(Degrees of freedom|invalid value|divide by zero|overflow):RuntimeWarning"  # NumPy's own
)
FOLDS = {name: getattr(np, name) for name in ("sum", "prod", "min", "max", "any", "all", "mean", "var", "std")}


def cases(dtype: str, rng: np.random.Generator) -> list[tuple[np.ndarray, Any]]:
    """Return arrays, and axes of length 1 of each; in several orders of memory."""
    x = (rng.standard_normal((1, 40, 37)) * 50).astype(dtype)
    if x.dtype.kind == "f":
        x[0, :4, 0] = np.nan, np.inf, -np.inf, -0.0
    return [(x, 0), (x.T, 2), (x.T[::-1, ::2], (-1,)), (x, ()), (x[..., None], (0, 3)), (x[0], ())]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operator_gives_what_numpy_gives(device: gpuprims.Device, rng: np.random.Generator, dtype: str) -> None:
    if not device.capabilities.fp64:
        pytest.skip("means of integers are float64")
    for x, axis in cases(dtype, rng):
        for keepdims in (False, True):
            for op, fold in FOLDS.items():
                for more in ({}, {"ddof": 1}) if op in ("var", "std") else ({},):
                    how = {"axis": axis, "keepdims": keepdims, **more}
                    assert_equal(gpuprims.reduce(x, op=op, device=device, **how), fold(x, **how))
            if type(axis) is int:
                for op, place in (("argmin", np.argmin), ("argmax", np.argmax)):
                    got = gpuprims.reduce(x, op=op, axis=axis, keepdims=keepdims, device=device)
                    assert_equal(got, place(x, axis=axis, keepdims=keepdims))


def test_several_arrays_a_map_and_several_results(device: gpuprims.Device, rng: np.random.Generator) -> None:
    a, b = rng.random((9, 1), np.float32), rng.random((1, 5, 1, 1), np.float32)
    assert_equal(gpuprims.reduce(a, b, map="x*y", axis=(0, 3), device=device), (a * b).sum(axis=(0, 3)))
    for got, one in zip(gpuprims.reduce(a, 2 * a, op=AFFINE, axis=1, device=device), (a, 2 * a), strict=True):
        assert_equal(got, one[:, 0])
    last = gpuprims.Op(lambda p, q: p + q, 0, finish=lambda value, count: count)  # a result that no element changes
    assert_equal(gpuprims.reduce(a, op=last, axis=1, device=device), np.ones(9, np.float32))


def test_few_elements_that_numpy_would_compute(
    device: gpuprims.Device, rng: np.random.Generator, numpy_computes: None
) -> None:
    x = rng.random((18, 1), np.float32)
    for op in ("sum", "max"):
        for keepdims in (False, True):
            for _ in range(2):
                got = gpuprims.reduce(x, op=op, axis=-1, keepdims=keepdims, device=device)
                assert_equal(got, FOLDS[op](x, axis=-1, keepdims=keepdims))


def test_results_in_place(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.random((30, 1, 20), np.float32)
    out = on_device(device, np.empty((20, 30), np.float32))
    gpuprims.reduce(on_device(device, x), axis=1, out=out.T)
    assert_equal(on_host(device, out), x[:, 0].T)
    with pytest.raises(gpuprims.errors.GpuprimsError, match=r"^reduce: "):
        gpuprims.reduce(x, axis=1, out=np.empty((3, 3), np.float32), device=device)


def test_a_variant_asked_for_by_name_folds(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x = rng.random((1, 2000), np.float32)
    name = "numpy" if device.backend == "reference" else "cpu_chunks" if device.capabilities.kind == "cpu" else "each"
    plan = gpuprims.plan("reduce", x, axis=0, device=device, variant=name)
    assert (plan.variant.primitive, plan.variant.name) == ("reduce", name)
    assert gpuprims.plan("reduce", x, axis=0, device=device).variant.primitive == "map"
