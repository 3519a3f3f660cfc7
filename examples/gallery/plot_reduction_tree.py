"""
A reduction tree
================

The tree by which a group of work-items adds 16 numbers: each level adds pairs, so that 15 additions take four steps.
The partial sums are real: each level is a ``reduce`` over rows of two.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims

values = np.random.default_rng(4).integers(1, 10, 16)
levels = [values]
while levels[-1].size > 1:
    levels.append(gpuprims.reduce(levels[-1].reshape(-1, 2), axis=1))
assert levels[-1][0] == gpuprims.reduce(values)

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
places = [np.arange(16.0)]
for height, level in enumerate(levels):
    at = places[-1]
    for place, value in zip(at, level, strict=True):
        shade = plt.cm.YlGnBu(0.08 + 0.6 * value / levels[-1][0])
        box = {"boxstyle": "circle", "facecolor": shade, "edgecolor": "0.3"}
        axes.text(place, height, value, ha="center", va="center", bbox=box, zorder=3)
    if height + 1 < len(levels):
        above = at.reshape(-1, 2).mean(axis=1)
        for child, parent in zip(at, np.repeat(above, 2), strict=True):
            axes.plot([child, parent], [height, height + 1], color="0.6", zorder=1)
        places.append(above)
axes.set(xlim=(-0.7, 15.7), ylim=(-0.5, 4.5), yticks=range(5), xticks=[])
axes.set_yticklabels(["elements", "step 1", "step 2", "step 3", "sum"])
axes.spines[:].set_visible(False)
axes.tick_params(left=False)
plt.show()
