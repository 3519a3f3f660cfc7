"""
Segmentation by a threshold
===========================

Cells under a microscope, drawn at random, on a background that is darker at the sides, with dead and hot pixels of the
camera. A median of 3 x 3 removes these pixels, a wide Gaussian filter estimates the background, and pixels that are
brighter belong to cells. ``binary_opening`` drops specks, ``binary_closing`` fills gaps, and ``binary_erosion`` gives
the outline: the pixels that it removes.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims
from gpuprims import ndimage

rng = np.random.default_rng(7)
rows, columns = 300, 460
y, x = np.mgrid[:rows, :columns]

# The scene: round cells, a background, and noise.
scene = 60 * np.exp(-(((y - 150) / 220) ** 2 + ((x - 230) / 300) ** 2))
for top, left, radius in rng.uniform((0, 0, 7), (rows, columns, 16), (34, 3)):
    scene += 45 * ((y - top) ** 2 + (x - left) ** 2 < radius**2)
image = (scene + rng.normal(20, 9, scene.shape)).clip(0, 255).astype(np.uint8)
image[rng.random(image.shape) < 0.03] = 0
image[rng.random(image.shape) < 0.03] = 255

clean = ndimage.median_filter(image, 3)
smooth = ndimage.gaussian_filter(clean, 1.5, output=np.float32)
background = ndimage.gaussian_filter(clean, 40, output=np.float32)
bright = gpuprims.map("s > b + 12", s=smooth, b=background)

disk = np.add.outer(np.arange(-4, 5) ** 2, np.arange(-4, 5) ** 2) <= 16
cells = ndimage.binary_closing(ndimage.binary_opening(bright, disk), disk)
outline = cells & ~ndimage.binary_erosion(cells, iterations=2)

drawn = np.repeat(clean[..., np.newaxis], 3, axis=-1)
drawn[outline] = 255, 140, 0

figure, panels = plt.subplots(1, 3, figsize=(9, 2.3), layout="constrained")
for axes, shown, title in zip(panels, (image, clean, drawn), ("camera", "median_filter", "outlines"), strict=True):
    axes.imshow(shown, cmap="gray", vmin=0, vmax=160)
    axes.set_title(title)
    axes.set_axis_off()
plt.show()
