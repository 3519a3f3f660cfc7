"""The nearest neighbours of points by brute force: the distances to all points, and the k smallest of each row.

The squared distance of q and p is |q|^2 - 2 q.p + |p|^2. |q|^2 is the same for a whole row, so it can be left out.
GPUPRIMS_DEVICE=opencl:cpu python examples/nearest_neighbours.py    chooses a device.
gpuprims profile examples/nearest_neighbours.py    shows the device time of each launch.
"""

import numpy as np

import gpuprims

K = 5
rng = np.random.default_rng(0)
points = rng.standard_normal((10_000, 16), dtype=np.float32)
queries = points[:200] + rng.normal(0, 0.01, (200, 16)).astype(np.float32)

lengths = gpuprims.reduce(points, map="x*x", axis=1)
ranking = gpuprims.map("length - 2*product", length=lengths, product=queries @ points.T)
_, nearest = gpuprims.top_k(ranking, K, axis=1, largest=False)

# The true distances of these neighbours alone: gather their points, and add squares over the last axis.
neighbours = gpuprims.take(points, nearest, axis=0)
distances = gpuprims.reduce(neighbours, queries[:, None, :], map="(p - q)**2", axis=2) ** 0.5

print("query  nearest points and their distances")
for row in range(4):
    print(f"{row:5}  " + "  ".join(f"{at:5} {far:5.3f}" for at, far in zip(nearest[row], distances[row], strict=True)))
assert np.array_equal(nearest[:, 0], np.arange(200))
assert np.all(np.diff(distances, axis=1) > -1e-3)
every = np.linalg.norm(points - queries[0], axis=1)
assert np.allclose(distances[0], np.sort(every)[:K], rtol=1e-3, atol=1e-3)
