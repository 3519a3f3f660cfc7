"""A histogram of keys that are not bin numbers: readings of sensors, by the sensors' serial numbers.

GPUPRIMS_DEVICE=opencl:cpu python examples/histogram_of_keys.py    chooses a device.
gpuprims profile examples/histogram_of_keys.py    shows the device time of each launch.
"""

import numpy as np

import gpuprims

rng = np.random.default_rng(0)
serials = rng.choice(2**40, 200, replace=False)  # far too large for bincount
sensors = serials[rng.zipf(1.5, 100_000) % 200]
readings = rng.normal(20, 5, sensors.size).astype(np.float32)

found, counts = gpuprims.unique(sensors, return_counts=True)
keys, means = gpuprims.group_by(sensors, readings, op="mean")
highest = gpuprims.reduce(readings, by=sensors, op="max")

print("serial number   readings    mean   highest")
for k in np.argsort(-counts)[:5]:
    print(f"{found[k]:13} {counts[k]:10} {means[k]:7.2f} {highest[k]:9.2f}  {'#' * int(20 * counts[k] / counts.max())}")

expected, places = np.unique(sensors, return_inverse=True)
assert np.array_equal(found, expected)
assert np.array_equal(keys, expected)
assert np.array_equal(counts, np.bincount(places))
assert np.allclose(means, np.bincount(places, readings) / counts, rtol=1e-4)
assert np.array_equal(highest, [readings[places == k].max() for k in range(expected.size)])
