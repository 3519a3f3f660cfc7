"""
k-means by segments
===================

Seven centres move to the middles of clusters of 20,000 points; lines show their paths. ``map`` finds the nearest centre
of every point. Points in the order of their centres are segments, and a ``reduce`` with ``segments=`` gives all means
at once.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims

rng = np.random.default_rng(5)
middles = np.float32([(0, 0), (3, 1), (1, 3.2), (-2.4, 2), (-3, -1.6), (0.4, -3), (3.2, -2.4)])
points = middles[rng.integers(0, 7, 20_000)] + rng.normal(0, 0.62, (20_000, 2)).astype(np.float32)
x, y = np.ascontiguousarray(points.T)


def nearest(x, y, centres):
    """Return the number of the nearest centre of each point."""

    def pick(x, y):
        number, least = 0, (x - centres[0][0]) ** 2 + (y - centres[0][1]) ** 2
        for other, (cx, cy) in enumerate(centres[1:], start=1):
            distance = (x - cx) ** 2 + (y - cy) ** 2
            number = np.where(distance < least, other, number)
            least = np.minimum(distance, least)
        return number

    return gpuprims.map(pick, x, y)


centres = x[:7].tolist(), y[:7].tolist()
ways = [np.transpose(centres)]
for _ in range(25):
    labels = nearest(x, y, list(zip(*centres, strict=True)))
    order = gpuprims.argsort(labels)
    offsets = np.append(0, gpuprims.cumsum(gpuprims.bincount(labels, minlength=7)))
    centres = [gpuprims.reduce(one[order], op="mean", segments=offsets).tolist() for one in (x, y)]
    ways.append(np.transpose(centres))

figure, axes = plt.subplots(figsize=(6, 5.4), layout="constrained")
axes.scatter(x, y, c=labels, s=2, cmap="Set2")
for way in np.swapaxes(ways, 0, 1):
    axes.plot(*way.T, color="black", linewidth=1)
    axes.plot(*way[-1], "o", color="black", markersize=8)
axes.set_aspect("equal")
axes.set_axis_off()
plt.show()
