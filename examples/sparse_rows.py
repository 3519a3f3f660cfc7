"""Rows of a sparse matrix: the product with a vector, places within rows, and the large entries.

The CSR form of a matrix holds the values of its entries row by row, their columns, and the offset of each row.
segments= takes these offsets, and divides the work evenly even if the rows' lengths differ.

gpuprims profile examples/sparse_rows.py    shows the device time of each launch.
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

# The place of each entry in its row, and the entries with magnitudes above 3.
places = gpuprims.scan(np.ones(values.size, np.int32), inclusive=False, segments=offsets)
large = gpuprims.compact(values, "abs(x) > 3")
norm = np.linalg.norm(product)
print(f"{values.size} entries in {rows} rows of up to {places.max() + 1}; the norm of the product is {norm:.3f}")
print(f"{large.size} entries have magnitudes above 3; the first are {large[:4]}")
