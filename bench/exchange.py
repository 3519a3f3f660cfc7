"""Exchanges among devices, by size and by way: ``python -m bench.exchange --devices cuda:0 cuda:1``.

"host": each device's array is copied to the host and added there. "one": the first GPU reads all arrays and writes all
results. "nccl": NCCL's all-reduce. "peers": each GPU reads the arrays of all others. Each call is waited for on every
device; the median counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np

import gpuprims
from gpuprims.distributed import exchange
from gpuprims.distributed.sharded import begin_to_host

_SIZES = (1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 24, 1 << 28)


def seconds(group: gpuprims.DeviceGroup, call: Callable[[], Any], runs: int) -> float:
    """Return the median seconds of a call and of the wait for all devices."""
    taken = []
    for _ in range(runs + runs // 2):
        start = time.perf_counter()
        call()
        for device in group.devices:
            device.synchronize()
        taken.append(time.perf_counter() - start)
    return median(taken[runs // 2 :])


def _only(way: exchange.Way, *_: Any) -> list[exchange.Way]:
    return [way]


def added_on_host(group: gpuprims.DeviceGroup, x: gpuprims.distributed.ShardedArray) -> np.ndarray:
    """Return the sum of the shards, each copied to the host."""
    devices = group.devices
    parts = group.launch("bench", lambda k: begin_to_host(devices[k], x.shards[k]), lambda k, read: read()[0])
    total: np.ndarray = np.sum(parts, axis=0)
    return total


def main() -> None:
    """Print a line for each size and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", nargs="+", required=True, help="such as cuda:0 cuda:1")
    group = gpuprims.DeviceGroup(parser.parse_args().devices)
    n, ways_of = len(group), exchange.ways_of
    for size in _SIZES:
        parts = [np.full(size // 4, k + 1, np.float32) for k in range(n)]
        x = group.from_shards([device.asarray(part) for device, part in zip(group.devices, parts, strict=True)])
        runs = 200 if size <= 1 << 20 else 10
        if size <= 1 << 20:
            found = added_on_host(group, x)
            assert found[0] == n * (n + 1) / 2
            print(f"{size:>12,} bytes  host    {1e6 * seconds(group, partial(added_on_host, group, x), runs):10.1f} us")
        able = exchange.ways_of(group, x, "sum")
        for way in able[:-1]:
            exchange.ways_of = partial(_only, way)
            for shard in group.all_reduce(x).shards:
                assert float(shard[-1]) == n * (n + 1) / 2
            taken = seconds(group, partial(group.all_reduce, x), runs)
            rate = 2 * (n - 1) / n * size / taken / 1e9  # of each GPU's link, as NCCL's tests have it
            print(f"{size:>12,} bytes  {way:8}{1e6 * taken:10.1f} us  {rate:8.1f} GB/s of each link", flush=True)
        exchange.ways_of = ways_of


if __name__ == "__main__":
    main()
