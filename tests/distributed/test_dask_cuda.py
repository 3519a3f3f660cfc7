"""Dask arrays whose chunks are CuPy's, alone and on a cluster of dask-cuda: a worker for each GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import gpuprims
from conftest import SPECS
from gpuprims.distributed import LogReg

da = pytest.importorskip("dask.array", reason="Dask is not installed: make test-dask")
if not any(one.startswith("cuda") for one in SPECS):
    pytest.skip("needs an NVIDIA GPU", allow_module_level=True)
cupy = pytest.importorskip("cupy")


def on_gpu(x: np.ndarray, *chunks: int):
    """Return an array of Dask with chunks of CuPy."""
    return da.from_array(x, chunks=chunks).map_blocks(cupy.asarray, meta=cupy.empty((0,) * x.ndim, x.dtype))


def check(x: np.ndarray, lazy: list[Any], wanted: list[Any]) -> None:
    for one, right in zip(lazy, wanted, strict=True):
        assert isinstance(one._meta, cupy.ndarray)
        found = one.compute()
        assert isinstance(found, cupy.ndarray)
        np.testing.assert_allclose(found.get(), right, rtol=1e-5, atol=1e-4)


def calls(x: np.ndarray) -> tuple[list[Any], list[Any]]:
    """Return lazy results of chunks on the GPU, and NumPy's."""
    a = on_gpu(x, 300, 40)
    low, high = float(x.min()), float(x.max())
    lazy = [
        gpuprims.reduce(a, axis=0), gpuprims.reduce(a, op="std", axis=1), gpuprims.map("2*v", a),
        gpuprims.scan(a, axis=0), gpuprims.histogram(a, 9, (low, high))[0], gpuprims.compact(a, "v > 1"),
        gpuprims.blur(a, "gaussian", sigma=1.0),
    ]  # fmt: skip
    rows = np.concatenate([block.ravel()[block.ravel() > 1] for block in np.split(x, [300, 600, 900])])
    blurred = gpuprims.blur(x.astype(float), "gaussian", sigma=1.0, device="reference")
    return lazy, [x.sum(axis=0), x.std(axis=1), 2 * x, x.cumsum(axis=0), np.histogram(x, 9)[0], rows, blurred]


def test_chunks_of_cupy_stay_on_the_gpu(rng) -> None:
    x = rng.standard_normal((1_000, 40)).astype(np.float32)
    check(x, *calls(x))
    exact = gpuprims.reduce(on_gpu(x, 100, 40), determinism="order").compute()
    assert exact.get() == gpuprims.reduce(x, device="reference", determinism="order")


@pytest.mark.filterwarnings("default")  # of numba, which distributed imports to send arrays of GPUs
def test_a_worker_for_each_gpu_computes_and_fits(rng) -> None:
    dask_cuda = pytest.importorskip("dask_cuda")
    distributed = pytest.importorskip("dask.distributed")
    x = rng.standard_normal((1_000, 40)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] + rng.standard_normal(1_000) > 0).astype(np.int32)
    with (
        dask_cuda.LocalCUDACluster(dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert len(client.nthreads()) == cupy.cuda.runtime.getDeviceCount()
        check(x, *calls(x))
        X, labels = on_gpu(x, 250, 40), on_gpu(y, 250)
        model = LogReg(tol=1e-6).fit(X, labels)
        wanted = LogisticRegression(tol=1e-8, max_iter=1_000).fit(x, y)
        np.testing.assert_allclose(model.coef_, wanted.coef_, atol=1e-3)
        assert isinstance(model.predict(X).compute(), cupy.ndarray)
        assert model.score(X, labels) == pytest.approx(wanted.score(x, y), abs=0.01)
