"""
Run-length decoding
===================

A drawing stored as runs of equal pixels, and how a scan unpacks it. The running sum of the lengths tells where each run
begins. Each run writes its number there, other places are zero, and a running maximum carries the number to its end.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims

y, x = np.mgrid[-1:1:120j, -1:1:120j]
face = gpuprims.map("hypot(x, y) < 0.9", x, y).astype(np.uint8)
for centre in (-0.35, 0.35):
    face = gpuprims.map("where(hypot(x - c, y + 0.3) < 0.12, 2, f)", x=x, y=y, f=face, c=centre)
smile = "where((abs(hypot(x, y) - 0.55) < 0.07) & (y > 0.15), 2, f)"
pixels = gpuprims.map(smile, x=x, y=y, f=face).astype(np.uint8).ravel()

# Encode: a run begins where a pixel differs from the one before.
starts = np.append(True, gpuprims.map("a != b", pixels[1:], pixels[:-1]))
begins = gpuprims.compact(np.arange(pixels.size), starts)
values, lengths = pixels[begins], np.diff(begins, append=pixels.size)

# Decode.
heads = np.zeros(pixels.size, np.int32)
heads[gpuprims.scan(lengths, inclusive=False)] = np.arange(lengths.size)
run = gpuprims.scan(heads, op="max")
decoded = values[run]
assert np.array_equal(decoded, pixels)

figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
axes[0].imshow(heads.reshape(x.shape) > 0, cmap="Greys", interpolation="nearest")
axes[1].imshow(run.reshape(x.shape), cmap="viridis", interpolation="nearest")
axes[2].imshow(decoded.reshape(x.shape), cmap="YlOrBr", interpolation="nearest")
for axis, title in zip(axes, (f"{lengths.size} heads of runs", "running maximum", "decoded"), strict=True):
    axis.set_title(title)
    axis.set_axis_off()
plt.show()
print(f"{pixels.size:,} pixels in {lengths.size:,} runs")
