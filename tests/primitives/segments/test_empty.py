"""Empty segments."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_cases import Kernel, assert_equal, poison
from segments_cases import scan, scanned

from gpuprims.errors import EmptyReductionError

WITH_EMPTY = [0, 0, 2, 2, 5, 5]


@pytest.mark.parametrize(("op", "nothing"), [("sum", 0), ("prod", 1), ("norm", 0), ("mean", np.nan), ("var", np.nan)])
def test_an_empty_segment_folds_to_what_nothing_folds_to(kernel: Kernel, op: str, nothing: float) -> None:
    poison(kernel.device)
    got = kernel.reduce(np.arange(1, 6, dtype=np.float32), op=op, segments=WITH_EMPTY)
    assert_equal(got[[0, 2, 4]], np.float32([nothing] * 3))
    assert np.isfinite(got[[1, 3]]).all()


@pytest.mark.parametrize("op", ["min", "max", "argmin", "argmax"])
def test_an_empty_segment_has_no_extreme(kernel: Kernel, op: str) -> None:
    for x, offsets in ((np.arange(5.0, dtype=np.float32), WITH_EMPTY), (np.empty(0, np.float32), [0, 0])):
        with pytest.raises(EmptyReductionError, match=rf"reduce with {op}: .*; got an empty segment"):
            kernel.reduce(x, op=op, segments=offsets)
    expected = np.empty(0, np.int64 if op.startswith("arg") else np.float32)
    assert_equal(kernel.reduce(np.empty(0, np.float32), op=op, segments=[0]), expected)


@pytest.mark.parametrize("op", ["min", "max"])
def test_a_scan_passes_over_empty_segments_whatever_the_operator(kernel: Kernel, op: str) -> None:
    x = np.float32([3, 1, 4, 1, 5])
    assert_equal(scan(kernel, x, op=op, segments=WITH_EMPTY), scanned(x, WITH_EMPTY, op))


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64", "int64"])
def test_segments_of_nothing_by_offsets_of_any_dtype(kernel: Kernel, dtype: str) -> None:
    poison(kernel.device)
    got = kernel.reduce(np.zeros(0), op="prod", segments=np.zeros(301, dtype))
    assert_equal(got, np.ones(300))
