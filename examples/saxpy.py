"""saxpy: 2x + y over ten million elements, in one kernel that reads each array once, beside NumPy.

GPUPRIMS_DEVICE=opencl:cpu python examples/saxpy.py    chooses a device; the default is the best one.
gpuprims profile examples/saxpy.py    shows the device time of each launch.
"""

from time import perf_counter

import numpy as np

import gpuprims


def timed(function):
    """Return the result and the milliseconds of the second call; the first call compiles and touches new memory."""
    function()
    start = perf_counter()
    return function(), 1e3 * (perf_counter() - start)


x, y = np.random.default_rng(0).standard_normal((2, 10_000_000), dtype=np.float32)
computed, ours = timed(lambda: gpuprims.map("2*x + y", x, y))
expected, numpys = timed(lambda: 2 * x + y)

print(f"gpuprims {ours:7.1f} ms, from host array to host array")
print(f"NumPy    {numpys:7.1f} ms")
print(f"largest difference {np.abs(computed - expected).max():.1e}")
assert np.allclose(computed, expected, rtol=1e-6, atol=1e-6)
