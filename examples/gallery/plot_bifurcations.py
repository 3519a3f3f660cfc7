"""
The logistic map
================

The values that x ← r x (1 - x) settles on, for 1,200 values of r: one, two, four, then chaos. ``map`` follows 2,000
starting points for each r, and ``histogram`` with ``axis=`` counts where they end, in one histogram for each r.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims


def twenty(x, r):
    """Return x after twenty steps."""
    for _ in range(20):
        x = r * x * (1 - x)
    return x


r = np.linspace(2.8, 4, 1200, dtype=np.float32)[:, np.newaxis]
x = np.random.default_rng(0).random((1200, 2000), dtype=np.float32)
for _ in range(20):
    x = gpuprims.map(twenty, x, r)
counts, _ = gpuprims.histogram(x, bins=700, range=(0, 1), axis=1)

figure, axes = plt.subplots(figsize=(8, 4.6), layout="constrained")
axes.imshow(np.log1p(counts.T), origin="lower", extent=(2.8, 4, 0, 1), aspect="auto", cmap="magma_r")
axes.set(xlabel="r", ylabel="x")
plt.show()
