"""
Rain in the mountains
=====================

How much water stays in the valleys. The water at a place is as high as the lower of two peaks: the highest to the left
and the highest to the right. Both are running maxima, ``scan(op="max")`` from either side.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims

rng = np.random.default_rng(12)
walk = gpuprims.cumsum(rng.normal(0, 1, 4000))
ridge = gpuprims.map("w + 22 * sin(k / 300)", walk, k=np.arange(4000))
ground = gpuprims.stencil(ridge, np.full(15, 1 / 15))

left = gpuprims.scan(ground, op="max")
right = gpuprims.scan(ground[::-1], op="max")[::-1]
water = gpuprims.map("minimum(a, b)", left, right)
held = gpuprims.reduce(water, ground, map="w - g")

figure, axes = plt.subplots(figsize=(9, 3.4), layout="constrained")
low = ground.min() - 5
axes.fill_between(range(4000), low, ground, color="#8a7358")
axes.fill_between(range(4000), ground, water, color="#4a90c4")
axes.plot(left, color="0.4", linewidth=0.8, linestyle=":", label="highest to the left")
axes.plot(right, color="0.4", linewidth=0.8, linestyle="--", label="highest to the right")
axes.set(xlim=(0, 3999), ylim=(low, ground.max() + 8), xticks=[], yticks=[], title=f"{held:,.0f} units of water")
axes.legend(loc="lower right", fontsize=8)
plt.show()
