"""
The Mandelbrot set
==================

How many steps a point of the plane takes to leave the circle, on a logarithmic scale. ``map`` runs sixteen steps of
z² + c for every point in one kernel: the loop of the Python function is unrolled when it is traced.
"""

import matplotlib.pyplot as plt
import numpy as np

import gpuprims

STEPS = 16


def steps(real, imaginary, count, a, b):
    """Return z and the count of steps within the circle after sixteen more steps."""
    for _ in range(STEPS):
        inside = real * real + imaginary * imaginary < 256
        count = np.where(inside, count + 1, count)
        real, imaginary = (
            np.where(inside, real * real - imaginary * imaginary + a, real),
            np.where(inside, 2 * real * imaginary + b, imaginary),
        )
    return real, imaginary, count


b, a = np.mgrid[-0.14:0.14:560j, -1.49:-1.14:700j]  # a part of the western valley
state = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
run = gpuprims.plan("map", steps, *state, a, b)
for _ in range(32):
    state = run(*state, a, b)

real, imaginary, count = state
smooth = gpuprims.map("count + 1 - log(log(maximum(r*r + i*i, 3)) / 2) / log(2)", count, real, imaginary)
inside = count == 32 * STEPS
shade = np.where(inside, np.nan, np.log(smooth))

figure, axes = plt.subplots(figsize=(7, 5.6), layout="constrained")
axes.imshow(shade, cmap="twilight_shifted", interpolation="bilinear")
axes.set_facecolor("black")
axes.set(xticks=[], yticks=[])
plt.show()
print(f"{gpuprims.reduce(inside, op='mean'):.1%} of the points stay")
