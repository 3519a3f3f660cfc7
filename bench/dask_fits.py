"""Fits by Dask's workers, beside dask-ml's: ``python -m bench.dask_fits``.

Each library fits the same samples, which the workers have, to the same penalty. dask-ml makes a graph for each
iteration, and penalises the intercept too, so the table has each model's mean loss without the penalty. With
``--cuda`` each GPU has a worker, by dask-cuda, and the blocks are CuPy's.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from bench.dask_workers import workers_of
from gpuprims.distributed import LogReg


@contextmanager
def gpu_workers() -> Iterator[Any]:
    """Start a worker for each GPU, and a client of them."""
    from dask.distributed import Client
    from dask_cuda import LocalCUDACluster

    with LocalCUDACluster(dashboard_address=None) as cluster, Client(cluster, set_as_default=False) as client:
        yield client


def samples_of(client: Any, rows: int, features: int, blocks: int, *, cupy: bool) -> tuple[Any, Any]:
    """Return features and labels that the workers have."""
    import dask.array as da
    from dask.distributed import wait

    weights = np.random.default_rng(0).standard_normal(features)
    X = da.random.default_rng(1).standard_normal((rows, features), chunks=(rows // blocks, features))
    noise = da.random.default_rng(2).standard_normal(rows, chunks=rows // blocks)
    y = ((X @ weights + 2 * noise) > 0).astype(np.float32)
    X = X.astype(np.float32)
    if cupy:
        import cupy as library

        X, y = (one.map_blocks(library.asarray) for one in (X, y))
    with client.as_current():
        X, y = client.persist([X, y])
        wait([X, y])
    return X, y


def mean_loss(X: Any, y: Any, coef: np.ndarray, intercept: float) -> float:
    """Return the mean log loss of a model."""
    scores = X @ np.asarray(coef, np.float32) + np.float32(intercept)
    return float((np.logaddexp(0, scores) - y * scores).mean().compute())


def fits(names: list[str]) -> dict[str, Callable[[], Any]]:
    """Return the models by name; dask-ml's are left out if it is not installed."""
    found: dict[str, Callable[[], Any]] = {"gpuprims": lambda: LogReg(tol=1e-4)}
    try:
        from dask_ml.linear_model import LogisticRegression
    except ImportError as error:
        print(f"without dask-ml: {error}")
        return found
    for name in names:
        found[f"dask-ml, {name}"] = partial(LogisticRegression, solver=name, tol=1e-4, max_iter=100)
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--solvers", nargs="*", default=["lbfgs"], help="of dask-ml: newton, admm and others")
    parser.add_argument("--cuda", action="store_true", help="a worker for each GPU, by dask-cuda; blocks of CuPy")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    with gpu_workers() if asked.cuda else workers_of(asked.workers, 1, pinned=True) as client:
        X, y = samples_of(client, asked.rows, asked.features, asked.blocks, cupy=asked.cuda)
        print(f"{asked.rows:,} x {asked.features} in {asked.blocks} blocks on {len(client.nthreads())} workers")
        for name, make in fits([] if asked.cuda else asked.solvers).items():
            times = []
            with client.as_current():
                for _ in range(3):
                    model, start = make(), time.perf_counter()
                    model.fit(X, y)
                    times.append(time.perf_counter() - start)
                loss = (
                    0.0 if asked.cuda else mean_loss(X, y, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))
                )
            print(f"{name:20} {min(times[1:]):8.3f} s, first {times[0]:.3f} s; mean loss {loss:.6f}", flush=True)


if __name__ == "__main__":
    main()
