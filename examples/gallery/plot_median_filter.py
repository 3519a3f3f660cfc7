"""
A median filter against dead pixels
===================================

A photograph with a tenth of its pixels, at random, black or white. A Gaussian filter spreads them; a median of 3 x 3 or
5 x 5 drops them and keeps edges, since it returns one of the neighbouring pixels. The numbers are mean errors, out of
255.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import gpuprims
from gpuprims import ndimage

photo = load_sample_image("china.jpg")[60:320, 200:560]
grey = gpuprims.reduce(photo, op="mean", axis=-1, dtype=np.float32).astype(np.uint8)

# Uniform numbers by counter: the same noise on every device.
chance = gpuprims.random(7, grey.shape)
noisy = gpuprims.map("where(u < 0.05, 0, where(u > 0.95, 255, x))", u=chance, x=grey).astype(np.uint8)

pictures = {
    "noise": noisy,
    "gaussian_filter": ndimage.gaussian_filter(noisy, 1.2),
    "median_filter, 3 x 3": ndimage.median_filter(noisy, 3),
    "median_filter, 5 x 5": ndimage.median_filter(noisy, 5),
}
figure, panels = plt.subplots(2, 2, figsize=(8, 6.1), layout="constrained")
for axes, (title, shown) in zip(panels.flat, pictures.items(), strict=True):
    error = gpuprims.reduce(shown, grey, map="abs(float32(x) - y)", op="mean")
    axes.imshow(shown, cmap="gray", vmin=0, vmax=255)
    axes.set_title(f"{title}: {error:.1f}")
    axes.set_axis_off()
plt.show()
