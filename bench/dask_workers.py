"""Workers of Dask on this machine: ``python -m bench.dask_workers``.

A pass is a call of each worker in a fit of few samples, so its time is that of the messages. Sums of many chunks are
timed on one worker and on several in turn, each with a core of its own; the median of the runs counts. Without cores of
their own, one worker's OpenCL device computes on all cores already, whatever the number of Dask's threads.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import gpuprims
from gpuprims.distributed import LogReg


@contextmanager
def workers_of(count: int, threads: int, *, pinned: bool) -> Iterator[Any]:
    """Start workers, each a process, and a client of them."""
    from dask.distributed import Client, LocalCluster

    how: dict[str, Any] = {"threads_per_worker": threads, "dashboard_address": None, "memory_limit": 0}
    with LocalCluster(n_workers=count, **how) as cluster, Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(count)
        if pinned:
            for core, worker in enumerate(sorted(client.nthreads())):
                client.run(_pin, core, workers=[worker])
        yield client


def _pin(core: int) -> None:
    """Keep all threads of this process, and those that they begin, on a core."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core % (os.cpu_count() or 1)})


def passes_of(client: Any, features: int) -> tuple[list[float], list[float]]:
    """Return the seconds of each pass of a fit, and those that its workers computed."""
    import dask.array as da

    from gpuprims.distributed import dask_tasks

    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, features)).astype(np.float32)
    y = X[:, 0] + rng.standard_normal(2_000) > 0
    taken: list[float] = []
    each = dask_tasks.Tasks.each

    def timed(tasks: Any, work: Any) -> Any:
        start = time.perf_counter()
        found = each(tasks, work)
        taken.append(time.perf_counter() - start)
        return found

    dask_tasks.Tasks.each = timed  # type: ignore[assignment, method-assign]  # the same, with a clock
    try:
        with client.as_current():
            LogReg(tol=1e-5, max_iter=200).fit(da.from_array(X, chunks=(500, features)), y)
    finally:
        dask_tasks.Tasks.each = each  # type: ignore[method-assign]  # as it was
    return taken[3:], alone_of(X, y)  # the first ones compile


def alone_of(X: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the seconds of passes over half of the samples, in two blocks, without Dask."""
    from gpuprims.distributed.dask_parts import Blocks
    from gpuprims.distributed.passes import LossGradient

    blocks = Blocks(None, [X[:500], X[500:1000]], [y[:500], y[500:1000]], None, intercept=True)
    blocks.begin(np.unique(y))
    taken = []
    for _ in range(50):
        start = time.perf_counter()
        blocks.run(LossGradient(False, np.zeros(X.shape[1] + 1)))
        taken.append(time.perf_counter() - start)
    return taken[3:]


def seconds(call: Callable[[], Any]) -> float:
    """Return the seconds of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _computed(client: Any, lazy: Any) -> Any:
    return client.compute(lazy).result()


def numbers_of(client: Any, count: int, chunks: int) -> Any:
    """Return float32 numbers that the workers have."""
    import dask.array as da
    from dask.distributed import wait

    x = da.arange(count, chunks=count // chunks, dtype=np.int64)
    x = x.map_blocks(lambda block: (block % 8191).astype(np.float32), dtype=np.float32)
    with client.as_current():
        x = x.persist()
        wait(x)
    return x


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--count", type=int, default=1 << 28, help="elements of the sum")
    parser.add_argument("--chunks", type=int, default=64)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--shared", action="store_true", help="all workers on all cores")
    asked = parser.parse_args()
    pinned = not asked.shared
    with workers_of(asked.workers, asked.threads, pinned=pinned) as several:
        for features in (10, 1_000):
            taken, alone = passes_of(several, features)
            print(
                f"pass of {features} features: {1e3 * median(taken):.2f} ms, computing"
                f" {1e3 * median(alone):.2f} ms; least {1e3 * min(taken):.2f} ms, of {len(taken)}"
            )
        with workers_of(1, asked.threads, pinned=pinned) as one:
            clients = {1: one, asked.workers: several}
            arrays = {n: numbers_of(client, asked.count, asked.chunks) for n, client in clients.items()}
            sums: dict[str, Callable[[Any], Any]] = {"gpuprims": gpuprims.reduce, "dask.array": lambda x: x.sum()}
            what = f"sum of {asked.count:,} float32 in {asked.chunks} chunks"
            for name, call in sums.items():
                times: dict[int, list[float]] = {n: [] for n in clients}
                for _ in range(asked.runs):
                    for n, client in clients.items():
                        lazy = call(arrays[n])
                        times[n].append(seconds(partial(_computed, client, lazy)))
                first, last = (median(times[n][1:]) for n in clients)
                print(
                    f"{name}, {what}: {1e3 * first:.0f} ms on one worker, {1e3 * last:.0f} ms on"
                    f" {asked.workers}, {first / last:.2f} x"
                )


if __name__ == "__main__":
    main()
