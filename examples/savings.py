"""A user-defined operator: thirty years of a savings account, folded month by month in parallel.

A month turns a balance b into rate * b + deposit, an affine map. Composition of affine maps is associative, but not
commutative, so gpuprims folds only neighbours.

gpuprims profile examples/savings.py    shows the device time of each launch.
"""

import numpy as np

import gpuprims

months = 12 * 30
rate = (1 + np.random.default_rng(0).uniform(-0.01, 0.02, months)).astype(np.float32)
deposit = np.full(months, 250, dtype=np.float32)

then = gpuprims.Op(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), identity=(1, 0), name="then")
growth, saved = gpuprims.reduce(rate, deposit, op=then)

balance = 1000.0
for factor, paid_in in zip(rate, deposit, strict=True):
    balance = float(factor) * balance + float(paid_in)
print(f"A start of 1000 becomes {growth * 1000 + saved:,.2f}; a loop over the months gives {balance:,.2f}")
assert abs(growth * 1000 + saved - balance) < 1e-4 * balance
