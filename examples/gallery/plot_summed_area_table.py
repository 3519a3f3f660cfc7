"""
A summed-area table
===================

A photograph that looks like one of a scale model: sharp in the middle, and softer with the distance from it. Two scans,
down the columns and along the rows, give a table of sums. Four of its entries give the sum of any box, so that a wide
blur costs as much as a narrow one, and each row can have its own.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import gpuprims

photo = load_sample_image("china.jpg").astype(np.float32)
rows, columns, _ = photo.shape
table = gpuprims.scan(gpuprims.scan(photo, axis=0, dtype=np.float64), axis=1)
table = np.pad(table, ((1, 0), (1, 0), (0, 0)))  # sums of what lies above and to the left

y, x = np.mgrid[:rows, :columns]
radius = gpuprims.map("minimum(18, maximum(0, abs(y - 300) - 40) / 7)", y=y).astype(int)
top, bottom = np.maximum(y - radius, 0), np.minimum(y + radius + 1, rows)
left, right = np.maximum(x - radius, 0), np.minimum(x + radius + 1, columns)
area = ((bottom - top) * (right - left))[..., np.newaxis]
corners = table[bottom, right], table[top, right], table[bottom, left], table[top, left]
model = gpuprims.map("(a - b - c + d) / area / 255", *corners, area)
vivid = gpuprims.map(
    "clip(mean + 1.35*(v - mean), 0, 1)", v=model, mean=gpuprims.reduce(model, op="mean", axis=2, keepdims=True)
)

figure, axes = plt.subplots(1, 3, figsize=(9, 2.5), layout="constrained")
axes[0].imshow(photo / 255)
axes[1].imshow(table[..., 1] / table[-1, -1, 1], cmap="viridis")
axes[2].imshow(vivid)
for axis, title in zip(axes, ("photograph", "table of sums (green)", "sharp in the middle"), strict=True):
    axis.set_title(title)
    axis.set_axis_off()
plt.show()
