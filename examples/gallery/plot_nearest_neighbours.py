"""
A map of nearest neighbours
===========================

Each place of the plane has the colour that most of its seven nearest points have, out of 240. A ``map`` computes the
distances of places and points, ``top_k`` picks the seven smallest of each place, and ``take`` finds their kinds.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims

rng = np.random.default_rng(9)
kinds = np.repeat(np.arange(3, dtype=np.int32), 80)
turns = rng.uniform(0.15, 1, 240)
angle = 5.2 * turns + 2 * np.pi / 3 * kinds + rng.normal(0, 0.22, 240)
x, y = np.float32([turns * np.cos(angle), turns * np.sin(angle)])

SIDE = 240
line = np.linspace(-1.25, 1.25, SIDE, dtype=np.float32)
across, up = (grid.reshape(-1, 1) for grid in np.meshgrid(line, line))
distances = gpuprims.map("(a - x)**2 + (b - y)**2", a=across, b=up, x=x, y=y)

nearest = gpuprims.top_k(distances, 7, axis=1, largest=False)[1]
votes = gpuprims.take(kinds, nearest)
counts = [gpuprims.reduce(votes, map=f"v == {kind}", axis=1) for kind in range(3)]
winner = gpuprims.reduce(np.array(counts), op="argmax", axis=0).reshape(SIDE, SIDE)
margin = gpuprims.reduce(np.array(counts), op="max", axis=0).reshape(SIDE, SIDE) / 7

figure, axes = plt.subplots(figsize=(5.6, 5.6), layout="constrained")
colours = np.array([(0.30, 0.55, 0.80), (0.95, 0.62, 0.25), (0.40, 0.70, 0.42)])
shade = 0.25 + 0.4 * margin[..., None]
axes.imshow(1 - shade * (1 - colours[winner]), origin="lower", extent=(-1.25, 1.25, -1.25, 1.25))
axes.scatter(x, y, c=colours[kinds], s=22, edgecolor="black", linewidth=0.7)
axes.set_axis_off()
plt.show()
