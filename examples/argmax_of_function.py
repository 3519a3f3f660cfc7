"""Find the maximum of a function: a fused reduce evaluates five million points and stores none of the values.

GPUPRIMS_DEVICE=opencl:cpu python examples/argmax_of_function.py    chooses a device.
gpuprims profile examples/argmax_of_function.py    shows the device time of each launch.
"""

import numpy as np

import gpuprims


def wave(x):
    """Return a beat with many local maxima; gpuprims traces NumPy's functions into the kernel."""
    return np.sin(7 * x) * np.sin(8 * x) * np.exp(-((x - 1) ** 2))


points = np.linspace(-4, 4, 5_000_001, dtype=np.float32)
place = int(gpuprims.reduce(points, op="argmax", map=wave))
highest = float(gpuprims.reduce(points, op="max", map=wave))
mean = float(gpuprims.reduce(points, op="mean", map=wave))

print(f"maximum {highest:.6f} at x = {points[place]:.5f} (point {place}); mean {mean:.6f}")
assert abs(highest - wave(points).max()) < 1e-5
assert abs(wave(points[place]) - highest) < 1e-5
