"""
Edges by Sobel's operator
=========================

The strength of a photograph's edges, and in colour their direction. One ``stencil`` computes both differences of a
neighbourhood and their length; the differences are never stored.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import hsv_to_rgb
from sklearn.datasets import load_sample_image

import gpuprims


def across(n):
    """Return the difference of the columns to the right and to the left."""
    return n[-1, 1] + 2 * n[0, 1] + n[1, 1] - n[-1, -1] - 2 * n[0, -1] - n[1, -1]


def down(n):
    """Return the difference of the rows below and above."""
    return n[1, -1] + 2 * n[1, 0] + n[1, 1] - n[-1, -1] - 2 * n[-1, 0] - n[-1, 1]


photo = load_sample_image("flower.jpg").astype(np.float32) / 255
grey = gpuprims.blur(gpuprims.reduce(photo, op="mean", axis=-1), "gaussian", sigma=1.2)
strength = gpuprims.stencil(grey, lambda n: np.hypot(across(n), down(n)))
direction = gpuprims.stencil(grey, lambda n: np.arctan2(down(n), across(n)))

brightness = gpuprims.map("minimum(s / most, 1)", strength, most=gpuprims.reduce(strength, op="max") / 3)
hue = gpuprims.map(lambda angle: angle / (2 * np.pi) + 0.5, direction)
coloured = hsv_to_rgb(np.stack([hue, np.full_like(hue, 0.9), brightness], axis=-1))

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.9), layout="constrained")
left.imshow(photo)
right.imshow(coloured)
for axes in (left, right):
    axes.set_axis_off()
plt.show()
