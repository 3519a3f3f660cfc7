"""Products with sparse matrices under Oclgrind and compute-sanitizer."""

from __future__ import annotations

import numpy as np
import pytest
from csr_cases import assert_product
from kernel_cases import Kernel, random_values, two_groups
from scipy import sparse
from watched_kernels import each, of

from gpuprims.primitives.csr import csr_product

pytestmark = pytest.mark.oclgrind

PRODUCTS = of("csr")


@each(PRODUCTS)
def test_products_with_a_sparse_matrix(kernel: Kernel, rng: np.random.Generator) -> None:
    # Rows for one lane, for a few and for a warp, some of them empty; the first row is long, once of several stretches.
    several = ((2, 130, "i4", 99, (1, 11)), (14, 70, "i8", 99, (3,)), (60, 20, "i4", 1200, (1, 11)))
    for longest, n, integer, first, numbers in several:
        lengths = rng.integers(0, longest, n)
        lengths[0] = first
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(integer)
        data, indices = random_values(rng, np.float32, indptr[-1]), rng.integers(0, 50, indptr[-1]).astype(integer)
        for outputs in numbers:
            A, B = sparse.csr_array((data, indices, indptr), (n, 50)), random_values(rng, np.float32, (50, outputs))
            where = {"device": kernel.device, "variant": kernel.variant.name}
            assert_product(csr_product(data, indices, indptr, B, **where), A, B)


@each(PRODUCTS)
def test_products_with_a_sparse_matrix_by_two_groups(
    kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 700 if kernel.variant.block > 1 else 3 * kernel.variant.items
    indptr = np.arange(0, 2 * n + 1, 2, dtype=np.int32)
    data, indices = random_values(rng, np.float32, 2 * n), rng.integers(0, 9, 2 * n).astype(np.int32)
    A, B = sparse.csr_array((data, indices, indptr), (n, 9)), random_values(rng, np.float32, 9)
    with two_groups(kernel.device, monkeypatch):
        got = csr_product(data, indices, indptr, B, device=kernel.device, variant=kernel.variant.name)
    assert_product(got, A, B)
