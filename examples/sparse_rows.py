"""Rows of a sparse matrix: its product with a vector, a sum for each segment, and the entries that are large.

In the CSR form a matrix is the values of its entries, row after row, their columns, and offsets that say where each row
begins. segments= takes these offsets as they are, and shares the work evenly however unequal the rows.
"""

import numpy as np

import gpuprims

rng = np.random.default_rng(0)
rows, columns = 20_000, 1000
lengths = np.minimum(rng.zipf(1.5, rows) - 1, columns)  # most rows are empty or short, a few are long
offsets = np.concatenate([[0], np.cumsum(lengths)])
values = rng.standard_normal(offsets[-1]).astype(np.float32)
at = rng.integers(0, columns, offsets[-1])
vector = rng.standard_normal(columns).astype(np.float32)

product = gpuprims.reduce(values, vector[at], map="x*y", segments=offsets)
expected = np.zeros(rows)
np.add.at(expected, np.repeat(np.arange(rows), lengths), values.astype(np.float64) * vector[at])
np.testing.assert_allclose(product, expected, atol=1e-3)

# How many entries of its row each entry follows, and the entries above 3, without the others.
places = gpuprims.scan(np.ones(values.size, np.int32), inclusive=False, segments=offsets)
large = gpuprims.compact(values, "abs(x) > 3")
norm = np.linalg.norm(product)
print(f"{values.size} entries in {rows} rows of up to {places.max() + 1}; the norm of the product is {norm:.3f}")
print(f"{large.size} entries are larger than 3; the first of them: {large[:4]}")
