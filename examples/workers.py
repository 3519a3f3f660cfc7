"""A pool of processes, each with a device of its own.

This process computes first, so that its workers must be spawned: a forked child cannot use its parent's device.

gpuprims profile examples/workers.py    shows the device time of each launch.
"""

import multiprocessing

import numpy as np

import gpuprims


def mean(seed: int) -> float:
    """Return the mean of a million random numbers."""
    return float(gpuprims.reduce(np.random.default_rng(seed).random(1_000_000), op="mean"))


if __name__ == "__main__":
    here = [mean(seed) for seed in range(4)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        there = pool.map(mean, range(4))
    print(here, "in each process" if here == there else "but not in the workers")
    assert here == there  # the same bits
