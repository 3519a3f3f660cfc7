"""
A scan in two sweeps
====================

Blelloch's exclusive scan of 16 numbers. The up sweep adds pairs, as in a reduction tree. Then the last place becomes
zero. In the down sweep each right place passes its value to the left one, and adds the sum that was there. Coloured
numbers have just changed. The last row equals ``scan(inclusive=False)``.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims

values = np.random.default_rng(3).integers(1, 10, 16)
rows, arrows, strides = [values], [], [1, 2, 4, 8]
for stride in strides:  # up
    left = np.arange(stride - 1, 16, 2 * stride)
    after = rows[-1].copy()
    after[left + stride] = gpuprims.map("a + b", rows[-1][left + stride], rows[-1][left])
    rows.append(after)
    arrows.append([(source, target) for target in left + stride for source in (target - stride, target)])
rows.append(np.append(rows[-1][:-1], 0))
arrows.append([])
for stride in reversed(strides):  # down
    left = np.arange(stride - 1, 16, 2 * stride)
    after = rows[-1].copy()
    after[left] = rows[-1][left + stride]
    after[left + stride] = gpuprims.map("a + b", rows[-1][left + stride], rows[-1][left])
    rows.append(after)
    arrows.append([(k, k + stride) for k in left] + [(k + stride, k) for k in left] + [(k + stride,) * 2 for k in left])
assert np.array_equal(rows[-1], gpuprims.scan(values, inclusive=False))

figure, axes = plt.subplots(figsize=(8, 6.4), layout="constrained")
names = ["elements", *(f"up {k}" for k in range(1, 5)), "last to zero", *(f"down {k}" for k in range(1, 4)), "scan"]
for height, row in enumerate(rows):
    before = rows[max(height - 1, 0)]
    for place, value in enumerate(row):
        changed = height == 0 or value != before[place]
        shade = "tab:blue" if height <= 4 else "tab:green"
        box = {"boxstyle": "circle,pad=0.25", "facecolor": shade if changed else "0.92", "edgecolor": "none"}
        colour = "white" if changed else "0.45"
        axes.text(place, -height, value, ha="center", va="center", fontsize=8, color=colour, bbox=box, zorder=3)
    for source, target in arrows[height - 1] if height else []:
        axes.plot([source, target], [1 - height, -height], color="0.6", linewidth=1, zorder=1)
axes.set(xlim=(-0.7, 15.7), ylim=(0.5 - len(rows), 0.5), yticks=-np.arange(len(rows)), xticks=[])
axes.set_yticklabels(names)
axes.spines[:].set_visible(False)
axes.tick_params(left=False)
plt.show()
