"""
The heat equation in three dimensions
=====================================

Hot bars cool in a block of metal with a cold surface: slices through the middle, and the temperature along a line. A
``stencil`` with seven weights is one step in time. All steps between two pictures are one call.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims

size, rate = 96, 0.15
block = np.zeros((size, size, size), np.float32)
block[:, 20:40, 20:40] = 1  # one bar along each axis
block[60:76, :, 30:46] = 0.8
block[30:44, 62:76, :] = 0.9

weights = np.zeros((3, 3, 3), np.float32)
weights[1, 1, 1] = 1 - 6 * rate
for neighbour in ((0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, 0), (1, 1, 2)):
    weights[neighbour] = rate

figure, axes = plt.subplots(1, 4, figsize=(9, 2.7), layout="constrained", width_ratios=(1, 1, 1, 1.15))
past = 0
for place, steps in enumerate((0, 40, 400)):
    if steps:
        block = gpuprims.stencil(block, weights, mode="constant", iterations=steps - past)
        past = steps
    hottest = gpuprims.reduce(block, op="max", axis=0)
    drawn = axes[place].imshow(hottest, cmap="inferno", vmin=0, vmax=1)
    axes[place].set_title(f"{steps} steps")
    axes[place].set_axis_off()
    axes[3].plot(block[size // 2, 30], label=f"{steps}")
figure.colorbar(drawn, ax=axes[2], shrink=0.8, label="hottest in depth")
axes[3].set(title="along a line", xlabel="place")
axes[3].legend(title="steps", fontsize=8)
plt.show()
