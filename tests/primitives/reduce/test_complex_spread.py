"""var, std and norm of complex numbers: every variant of every device against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_cases import COMPLEX, Kernel, assert_equal, random_values
from reduce_cases import several_tiles

import gpuprims
from gpuprims.errors import DtypeError

pytestmark = pytest.mark.filterwarnings("ignore:(Degrees of freedom|Mean of empty|invalid value|divide):RuntimeWarning")


def norm(x: np.ndarray, axis: Any = None) -> Any:
    return np.sqrt(np.sum(x.real**2 + x.imag**2, axis=axis))


ORACLES: dict[str, Any] = {"var": np.var, "std": np.std, "nanvar": np.nanvar, "nanstd": np.nanstd, "norm": norm}
NAMES = pytest.mark.parametrize("op", ORACLES)


def assert_near(got: Any, x: np.ndarray, expected: Any) -> None:
    """Compare with a result in complex128, up to rounding in the dtype of the parts."""
    assert got.dtype == x.real.dtype
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=40 * np.finfo(x.dtype).eps)


@pytest.mark.parametrize("dtype", COMPLEX)
@NAMES
def test_along_every_axis(reduce_kernel: Kernel, rng: np.random.Generator, op: str, dtype: str) -> None:
    reduce_kernel.need(dtype)
    x = random_values(rng, dtype, (4, 50, 60)) + np.array(100 - 30j, dtype)
    if op.startswith("nan"):
        x[rng.random(x.shape) < 0.2] = complex(1, np.nan)
    for axis in (None, 0, -1, (0, 2)):
        expected = np.asarray(ORACLES[op](x.astype(np.complex128), axis=axis))
        assert_near(reduce_kernel.reduce(x, op=op, axis=axis), x, expected)


@NAMES
def test_every_boundary(reduce_kernel: Kernel, rng: np.random.Generator, op: str) -> None:
    for size in (*reduce_kernel.boundary_sizes, several_tiles(reduce_kernel)):
        x = random_values(rng, "complex64", size)
        got = reduce_kernel.reduce(x, op=op)
        np.testing.assert_allclose(got, ORACLES[op](x.astype(np.complex128)), rtol=1e-5, atol=1e-7)


@NAMES
def test_nan_infinities_and_nothing(reduce_kernel: Kernel, op: str) -> None:
    for special in (complex(np.nan, 0), complex(0, np.inf)):
        x = np.ones(1000, np.complex64)
        x[7] = special
        expected = ORACLES[op](x) if op != "norm" else abs(special)
        assert_equal(reduce_kernel.reduce(x, op=op), np.float32(expected))
    nothing = ORACLES[op](np.empty((2, 0), np.complex64), axis=1).astype(np.float32)
    assert_equal(reduce_kernel.reduce(np.empty((2, 0), np.complex64), op=op, axis=1), nothing)


def test_ddof_masks_scans_and_dtypes(device: gpuprims.Device, rng: np.random.Generator) -> None:
    x, mask = random_values(rng, "complex64", (5, 300)), rng.random(300) < 0.5
    wide = x.astype(np.complex128)
    got = gpuprims.reduce(x, op="std", axis=1, ddof=1, where=mask, device=device)
    assert_near(got, x, np.std(wide, axis=1, ddof=1, where=mask))
    running = gpuprims.scan(x, op="var", axis=0, device=device)
    assert_near(running, x, np.stack([np.var(wide[: k + 1], axis=0) for k in range(5)]) + 0.0)
    if device.capabilities.fp64:
        got = gpuprims.reduce(x, op="var", dtype="complex128", device=device)
        assert_near(got, wide, np.asarray(np.var(wide)))
    with pytest.raises(DtypeError, match="conversion of a complex number"):
        gpuprims.reduce(x, op="var", dtype="float32", device=device)
