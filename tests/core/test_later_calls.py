"""Later calls compile nothing: the first call compiles what all calls like it run."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from device_doubles import CLASSES, double_of, in_use, runtimes
from kernel_cases import as_it_stands

import gpuprims
from bench.small_calls import CASES, OFFSETS, SIZE, Small, arrays

_GPU = CLASSES[-1]  # whose kernels are those of the most capable
# bincount tries a length, remembers the last one, and on a GPU searches for the next one.
COUNTS = {
    "bincount": CASES["bincount"],
    "bincount, two kinds": Small("bincount", ("bits",)),
    "bincount, rows": Small("bincount", ("rows",), keywords={"axis": 1}),
    "bincount, bytes": Small("bincount", ("bytes",)),
    "bincount, beyond the first trial": Small("bincount", ("wide",)),
}
FURTHER = CASES | {
    "bincount, minlength": Small("bincount", ("numbers",), keywords={"minlength": 5000}),
    "bincount, weights": Small("bincount", ("numbers",), named={"weights": "x"}),
    "histogram, edges": Small("histogram", after=([0, 0.2, 0.9],)),
    "histogram, weights": Small("histogram", after=(10, (0, 1)), named={"weights": "x"}),
    "histogram, a rule": Small("histogram", after=("auto",)),
    "histogram2d": Small("histogram2d", ("x", "ordered")),
    "group_by": Small("group_by", ("numbers", "x"), keywords={"op": "mean"}),
    "scan, by": Small("scan", named={"by": "numbers"}),
    "unique, all": Small("unique", ("numbers",), keywords={"return_inverse": True, "return_counts": True}),
    "unique_consecutive": Small("unique_consecutive", ("numbers",)),
    "run_length_encode": Small("run_length_encode", ("numbers",)),
    "run_length_decode": Small("run_length_decode", ("numbers", "bits")),
    "reduce, var": Small("reduce", keywords={"op": "var"}),
    "reduce, columns": Small("reduce", ("image",), keywords={"axis": 0}),
    "compact, mask": Small("compact", ("x", "mask")),
    "isin, many": Small("isin", ("numbers", "wide")),
    "top_k, rows": Small("top_k", ("image",), after=(5,), keywords={"axis": 1}),
    "sort, rows": Small("sort", ("image",), keywords={"axis": 1, "descending": True}),
    "sort, segments": Small("sort", keywords={"segments": OFFSETS}),
    "sort, less": Small("sort", keywords={"less": "a > b"}),
    "percentile": Small("percentile", after=([10.0, 50.0],)),
    "argpartition": Small("argpartition", after=(500,)),
    "nonzero": Small("nonzero"),
    "argwhere": Small("argwhere"),
    "count_nonzero": Small("count_nonzero"),
    "diff": Small("diff"),
    "digitize": Small("digitize", after=([0.2, 0.5],)),
    "random": Small("random", (), (7, 1000)),
    "take, wrap": Small("take", ("x", "numbers"), keywords={"mode": "wrap"}),
}
SIZES = {"short": SIZE, "long": 128 * SIZE}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test every call if the run is whole, else those that chose their kernels by what they had found."""
    if "case" in metafunc.fixturenames:
        whole = metafunc.config.getoption("whole")
        calls = COUNTS | FURTHER if whole else COUNTS
        metafunc.parametrize("case", list(calls.values()), ids=list(calls))
        metafunc.parametrize("size", list(SIZES.values()) if whole else [SIZES["long"]])
        metafunc.parametrize("runtime", runtimes() if whole else runtimes()[:1])


@pytest.fixture(autouse=True)
def unoptimised(monkeypatch: pytest.MonkeyPatch) -> None:
    as_it_stands(monkeypatch)


def inputs(size: int) -> dict[str, Any]:
    """Return arrays by name; a call chooses those that it needs."""
    rng, found = np.random.default_rng(20261127), arrays(size)
    size = len(found["x"])
    return found | {
        "bits": rng.integers(0, 2, size),
        "rows": rng.integers(0, 5, (size // 40, 40), np.int32),
        "bytes": rng.integers(0, 200, size, np.uint8),
        "wide": rng.integers(0, 70_000, size),
        "mask": rng.random(size) < 0.5,
    }


def of_size(case: Small, size: int) -> Small:
    """Return the case with segments for arrays of a size."""
    segments = case.keywords.get("segments")
    return case if segments is None else case._replace(keywords={"segments": segments * (size // SIZE)})


def kernels_of_calls(device: gpuprims.Device, case: Small, given: dict[str, Any]) -> list[int]:
    """Return how many kernels were compiled when each of four equal calls had ended."""
    call, counts = of_size(case, given["x"].size).call(given, device=device), []
    with mock.patch.object(device.driver, "build", wraps=device.driver.build) as build:
        for _ in range(4):
            call()
            counts.append(build.call_count)
    return counts


def test_on_the_host(runtime: str, case: Small, size: int) -> None:
    real: Any = gpuprims.Device(runtime).driver
    driver = type(real)(real.index, real.context, real.queue)  # which no other test has let compile
    counts = kernels_of_calls(gpuprims.Device._of(driver), case, inputs(size))
    assert counts == counts[:1] * 4


def test_on_a_gpu(runtime: str, case: Small, size: int) -> None:
    device = gpuprims.Device(runtime)
    if _GPU.width not in device.capabilities.subgroup_sizes:
        pytest.skip(f"{device.capabilities.name} has no sub-groups of {_GPU.width}")
    there = double_of(device, _GPU.of(device.capabilities))
    with in_use(there):
        given = {name: there.asarray(array) for name, array in inputs(size).items()}
        counts = kernels_of_calls(there, case, given)
    assert counts[0]
    assert counts == counts[:1] * 4
