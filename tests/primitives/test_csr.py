"""Sparse matrix products by every kernel, against SciPy in float64."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from csr_cases import WRONG, assert_product, beside, rows_of
from kernel_cases import Kernel, on_device, on_host, two_groups

import gpuprims
from gpuprims.errors import (
    ArgumentError,
    DeviceMismatchError,
    DtypeError,
    ShapeError,
    UnknownVariantError,
)
from gpuprims.primitives.csr import csr_product

FLOATS = ("float32", "float64")


def product(kernel: Kernel, A: Any, dense: Any) -> Any:
    how: dict[str, Any] = {"device": kernel.device, "variant": kernel.variant.name}
    return csr_product(A.data, A.indices, A.indptr, dense, **how)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("outputs", [None, 1, 2, 3, 4, 5, 9, 17])
def test_every_number_of_outputs(csr_kernel: Kernel, outputs: int | None, dtype: str, rng: np.random.Generator) -> None:
    csr_kernel.need(dtype)
    A, B = rows_of(rng, rng.integers(0, 30, 200), 77, dtype), beside(rng, 77, outputs, dtype)
    assert_product(product(csr_kernel, A, B), A, B)
    resident = [on_device(csr_kernel.device, a) for a in (A.data, A.indices, A.indptr, B)]
    got = csr_product(*resident, variant=csr_kernel.variant.name, device=csr_kernel.device)
    assert type(got) is type(resident[0])
    assert_product(on_host(csr_kernel.device, got), A, B)


# On both sides of a power of two, of a warp, of the elements that lanes take at once, and of a stretch of a CPU.
@pytest.mark.optimised
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33, 127, 128, 129, 511, 512, 513, 2000])
def test_every_length_of_rows(csr_kernel: Kernel, length: int, rng: np.random.Generator) -> None:
    for n in (1, 7, 65):
        A, B = rows_of(rng, np.full(n, length), 300), beside(rng, 300, None)
        assert_product(product(csr_kernel, A, B), A, B)


def test_every_number_of_rows(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    for n in (1, 2, 7, 8, 9, 255, 256, 257, 4095, 4096, 4097, 20_011):
        for mean in (1, 6):
            A, B = rows_of(rng, rng.integers(0, 2 * mean + 1, n), 50), beside(rng, 50, None)
            if A.nnz:
                assert_product(product(csr_kernel, A, B), A, B)


def test_rows_that_are_empty(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    for lengths in ([0, 0, 5], [5, 0, 0], [0, 3, 0, 0, 4, 0], [0] * 5000 + [1], [1] + [0] * 5000, [0, 0]):
        for outputs in (None, 3):
            A, B = rows_of(rng, lengths, 9), beside(rng, 9, outputs)
            assert_product(product(csr_kernel, A, B), A, B)


def test_nothing_at_all(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    for n, k, outputs in ((0, 5, None), (0, 5, 2), (3, 0, None), (0, 0, None), (4, 3, 0)):
        A, B = rows_of(rng, [0] * n, k), beside(rng, k, outputs)
        assert_product(product(csr_kernel, A, B), A, B)
        resident = [csr_kernel.device.asarray(a) for a in (A.data, A.indices, A.indptr, B)]
        got = csr_product(*resident, variant=csr_kernel.variant.name, device=csr_kernel.device)
        assert_product(on_host(csr_kernel.device, got), A, B)


def test_long_rows_among_short(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    lengths = np.ones(3000, int)
    lengths[[0, 17, 1500, 2999]] = 100_000, 0, 70_001, 33_333
    for outputs in (None, 5):
        A, B = rows_of(rng, lengths, 1000), beside(rng, 1000, outputs)
        assert_product(product(csr_kernel, A, B), A, B)


def test_one_row_and_one_column(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    for lengths, k in (([1], 1), ([700], 1), ([3], 800), ([1, 0, 2], 1)):
        for outputs in (None, 1, 2):
            A, B = rows_of(rng, lengths, k), beside(rng, k, outputs)
            assert_product(product(csr_kernel, A, B), A, B)


def test_integers_of_64_bits(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    A, B = rows_of(rng, rng.integers(0, 9, 300), 40), beside(rng, 40, 2)
    wide = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    how: dict[str, Any] = {"device": csr_kernel.device, "variant": csr_kernel.variant.name}
    for indices, indptr in ((wide[0], wide[1]), (wide[0], A.indptr), (A.indices, wide[1])):
        assert_product(csr_product(A.data, indices, indptr, B, **how), A, B)


def test_elements_that_are_zero_or_no_number(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    A, B = rows_of(rng, [3, 0, 5, 40], 20), beside(rng, 20, None)
    A.data[::2] = 0
    assert_product(product(csr_kernel, A, B), A, B)
    A.data[4] = np.nan
    got = product(csr_kernel, A, B)
    np.testing.assert_array_equal(np.isnan(got), [False, False, True, False])
    A.data[4], B[:] = 1, np.nan  # columns that no element of a row is in do not spoil it
    np.testing.assert_array_equal(np.isnan(product(csr_kernel, A, B)), [True, False, True, True])


def test_sums_of_long_rows_lose_little(csr_kernel: Kernel) -> None:
    n = 2_000_000
    data, indices = np.full(n, 0.1, np.float32), np.zeros(n, np.int32)
    how: dict[str, Any] = {"device": csr_kernel.device, "variant": csr_kernel.variant.name}
    got = csr_product(data, indices, np.array([0, n], np.int32), np.ones(1, np.float32), **how)
    assert got[0] == pytest.approx(n * float(np.float32(0.1)), rel=1e-6)  # one after the other: 1e-2


def test_sums_that_are_infinite(csr_kernel: Kernel) -> None:
    data = np.ones((5, 3000), np.float32)
    data[0, 3], data[1, 4], data[1, 2999], data[2, 7], data[3, ::1000] = np.inf, np.inf, -np.inf, -np.inf, 3e38
    indptr, how = np.arange(0, 15_001, 3000), {"device": csr_kernel.device, "variant": csr_kernel.variant.name}
    with np.errstate(all="ignore"):
        got = csr_product(data.ravel(), np.zeros(15_000, int), indptr, np.ones(1, np.float32), **how)
    np.testing.assert_array_equal(got, np.float32([np.inf, np.nan, -np.inf, np.inf, 3000]))


def test_the_same_bits_from_run_to_run(csr_kernel: Kernel, rng: np.random.Generator) -> None:
    A, B = rows_of(rng, rng.integers(0, 300, 3000), 999), beside(rng, 999, 3)
    first = product(csr_kernel, A, B)
    for _ in range(4):
        assert product(csr_kernel, A, B).tobytes() == first.tobytes()


def test_groups_that_take_several_runs(
    csr_kernel: Kernel, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if csr_kernel.device.backend == "reference":
        pytest.skip("NumPy has no groups")
    A, B = rows_of(rng, rng.integers(0, 50, 5003), 71), beside(rng, 71, 2)
    with two_groups(csr_kernel.device, monkeypatch):
        assert_product(product(csr_kernel, A, B), A, B)


def test_arrays_that_lie_apart(device: gpuprims.Device, rng: np.random.Generator) -> None:
    A, B = rows_of(rng, rng.integers(0, 9, 300), 40), beside(rng, 40, 6)
    apart = [np.repeat(a, 2)[::2] for a in (A.data, A.indices, A.indptr)]
    for dense in (B[:, ::2], np.asfortranarray(B), B[::-1], np.broadcast_to(B[0], B.shape), B.astype(">f4")):
        plain = np.ascontiguousarray(dense, np.float32)
        assert_product(csr_product(*apart, dense, device=device), A, plain)
    there = on_device(device, np.ascontiguousarray(B.T))
    resident = [on_device(device, a) for a in (A.data, A.indices, A.indptr)]
    assert_product(on_host(device, csr_product(*resident, there.T, device=device)), A, B)
    part = A[100:]
    begin = A.indptr[100]
    cut = resident[0][begin:], resident[1][begin:], on_device(device, part.indptr)
    assert_product(on_host(device, csr_product(*cut, there.T, device=device)), part, B)


def test_there_is_no_plan_because_it_would_not_check_later_indices() -> None:
    with pytest.raises(ArgumentError, match="plan: a function among"):
        gpuprims.plan("csr", np.ones(1), np.array([0]), np.array([0, 1]), np.ones(1), device="reference")


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_wrong_indices_are_found_before_a_kernel_reads_by_them(
    device: gpuprims.Device, wrong: tuple[Any, Any, str], dtype: str
) -> None:
    indices, indptr = (np.array(values, dtype) for values in wrong[:2])
    arrays = np.ones(4, np.float32), indices, indptr, np.ones(3, np.float32)
    with pytest.raises(ArgumentError, match=f"csr_product: .*{wrong[2]}"):
        csr_product(*arrays, device=device)
    with pytest.raises(ArgumentError, match=f"csr_product: .*{wrong[2]}"):
        csr_product(*(on_device(device, array) for array in arrays), device=device)


def test_wrong_arguments(device: gpuprims.Device) -> None:
    f4, i4 = np.float32, np.int32
    good: dict[str, Any] = {
        "data": np.ones(4, f4), "indices": np.zeros(4, i4), "indptr": np.array([0, 4], i4), "dense": np.ones(3, f4)
    }  # fmt: skip

    def refused(error: type[Exception], words: str, **other: Any) -> None:
        arrays = [other.get(name, array) for name, array in good.items()]
        with pytest.raises(error, match=f"csr_product.*{words}"):
            csr_product(*arrays, device=device, variant=other.get("variant"))

    refused(DtypeError, "data of float32 or float64; got dtype int64 .convert it", data=np.ones(4, int))
    refused(DtypeError, "dense of the dtype of data, float32; got float64", dense=np.ones(3))
    refused(DtypeError, "indices of int32 or int64; got dtype float32", indices=np.zeros(4, f4))
    refused(DtypeError, "indptr of int32 or int64; got dtype uint32", indptr=np.array([0, 4], np.uint32))
    refused(ShapeError, r"of one shape \(stored,\); got \(4,\) and \(3,\)", indices=np.zeros(3, i4))
    refused(ShapeError, r"of one shape \(stored,\); got \(2, 2\)", data=np.ones((2, 2), f4))
    refused(ShapeError, r"indptr of shape \(n \+ 1,\), for n rows; got \(0,\)", indptr=np.zeros(0, i4))
    refused(ShapeError, r"dense of shape \(k,\) or \(k, outputs\); got \(1, 1, 3\)", dense=np.ones((1, 1, 3), f4))
    refused(ArgumentError, "no elements where there are no columns", dense=np.ones(0, f4))
    with pytest.raises(UnknownVariantError, match="got 'no_such'"):
        csr_product(*good.values(), device=device, variant="no_such")
    if device.backend != "reference":
        with pytest.raises(DeviceMismatchError, match="arrays on one device"):
            csr_product(on_device(device, good["data"]), *list(good.values())[1:])


def test_the_choice_is_explained(device: gpuprims.Device) -> None:
    chosen = gpuprims.explain("csr", device, size=50, outputs=10**5).chosen
    assert chosen is not None
    assert chosen.name == {"cpu": "cpu_rows", "reference": "numpy"}.get(device.capabilities.kind, "rows")


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_level_device_has_the_same_bits_everywhere(
    device: gpuprims.Device, dtype: str, rng: np.random.Generator
) -> None:
    """A product and a sum that are rounded once, or another order of a row's elements, would give other bits."""
    if dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("needs float64")
    for n, most in ((300, 12), (40, 200)):
        A = rows_of(rng, rng.integers(0, most, n), 77, dtype)
        A.data[5], A.data[9] = -np.nan, -0.0
        for outputs in (None, 5):
            B = beside(rng, 77, outputs, dtype)
            given = A.data, A.indices, A.indptr, B
            got, expected = (csr_product(*given, device=one, determinism="device") for one in (device, "reference"))
            assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("spec", ["reference", pytest.param(None, marks=pytest.mark.whole)])
@pytest.mark.parametrize("outputs", [None, 3])
def test_the_level_order_has_exact_sums_of_rounded_products(
    device: gpuprims.Device, rng: np.random.Generator, outputs: int | None, spec: str | None
) -> None:
    device = device if spec is None else gpuprims.Device(spec)
    if not device.capabilities.fp64:
        pytest.skip("exact sums need float64")
    A, B = rows_of(rng, rng.integers(0, 60, 30), 77, "float32"), beside(rng, 77, outputs, "float32")
    A.data[::5] *= np.float32(2.0**40)  # which hides the other products in sums of floats
    within = [first + rng.permutation(last - first) for first, last in pairwise(A.indptr)]
    turned = np.concatenate(within)
    got = csr_product(A.data, A.indices, A.indptr, B, device=device, determinism="order")
    again = csr_product(A.data[turned], A.indices[turned], A.indptr, B, device="reference", determinism="order")
    assert got.tobytes() == again.tobytes()
    products = A.data.reshape(-1, *[1] * (B.ndim - 1)) * B[A.indices]
    for row, (first, last) in enumerate(pairwise(A.indptr)):
        columns = products[first:last].reshape(last - first, outputs or 1).T.astype(np.float64)
        np.testing.assert_allclose(np.ravel(got[row]), [math.fsum(column) for column in columns], rtol=2**-24)
