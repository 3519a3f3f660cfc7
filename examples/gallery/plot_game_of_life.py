"""
The game of life
================

A corner of a million cells, which start at random, after 0, 10 and 300 generations, and for how long each cell has not
changed. A ``stencil`` with a function of the neighbourhood is one generation; ``iterations=`` runs many of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims


def generation(n):
    """Return 1 if the cell lives on or is born: three neighbours, or two and alive."""
    alive = n[-1, -1] + n[-1, 0] + n[-1, 1] + n[0, -1] + n[0, 1] + n[1, -1] + n[1, 0] + n[1, 1]
    return np.where((alive == 3) | ((alive == 2) & (n[0, 0] == 1)), 1, 0)


cells = (np.random.default_rng(3).random((1024, 1024)) < 0.2).astype(np.uint8)
shown, past = {0: cells}, 0
for generations in (10, 300):
    cells = gpuprims.stencil(cells, generation, mode="wrap", iterations=generations - past, dtype=np.uint8)
    shown[generations], past = cells, generations

age = np.zeros(cells.shape, np.float32)
for _ in range(60):
    after = gpuprims.stencil(cells, generation, mode="wrap", dtype=np.uint8)
    age = gpuprims.map("where(new == old, age + 1, 0)", new=after, old=cells, age=age)
    cells = after

figure, axes = plt.subplots(1, 4, figsize=(9, 2.6), layout="constrained")
for axis, (generations, state) in zip(axes, shown.items(), strict=False):
    axis.imshow(state[:128, :128], cmap="gray_r", interpolation="nearest")
    axis.set_title(f"{generations} generations")
axes[3].imshow(age[:128, :128], cmap="inferno_r", interpolation="nearest")
axes[3].set_title("unchanged for")
for axis in axes:
    axis.set_axis_off()
plt.show()
print(f"{gpuprims.reduce(cells, op='count_nonzero'):,} of {cells.size:,} cells live")
