"""
Histogram equalisation
======================

A dull photograph, and the same with its grey levels spread evenly: the running sum of its histogram becomes a straight
line. ``bincount`` counts the levels, ``cumsum`` adds them up, and the sums say which level each pixel gets.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import gpuprims

photo = load_sample_image("china.jpg")
red, green, blue = (photo[..., channel] for channel in range(3))
grey = gpuprims.map("60 + (0.299*r + 0.587*g + 0.114*b) / 4", red, green, blue).astype(np.uint8)  # a foggy day


def running(image):
    """Return the share of pixels up to each grey level."""
    counts = gpuprims.bincount(image.ravel(), minlength=256)
    return gpuprims.cumsum(counts) / image.size


levels = (255 * running(grey)).astype(np.uint8)
equalised = levels[grey]

figure, axes = plt.subplots(2, 2, figsize=(8, 4.6), height_ratios=(3, 1), layout="constrained")
for column, (image, title) in enumerate(((grey, "as taken"), (equalised, "equalised"))):
    axes[0, column].imshow(image, cmap="gray", vmin=0, vmax=255)
    axes[0, column].set_title(title)
    axes[0, column].set_axis_off()
    counts = gpuprims.bincount(image.ravel(), minlength=256)
    axes[1, column].fill_between(range(256), counts / counts.max(), step="mid", color="tab:blue", alpha=0.6)
    axes[1, column].plot(running(image), color="tab:red", label="running sum")
    axes[1, column].set_yticks([])
axes[1, 0].legend(loc="upper left")
plt.show()
