"""Calls that cover the texts of every kernel, for tests that compile kernels and do not run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import place_calls
import selection_calls
import sort_calls
from axes_calls import FEW_OF_MANY, FIXED_COLUMNS, FIXED_ROWS, MANY_OUTPUTS, ROWS, TOGETHER, TREE_COLUMNS
from histogram_calls import BYTES, HISTOGRAMS, LOCAL, MANY_BINS, PACKED
from idle_arrays import ones, resident
from kernel_cases import AFFINE, DTYPES, STORED
from masked_calls import BACKWARD, LONG, MASKED, QUEUED_BACKWARD
from stencil_calls import (
    COLUMNS_OF_STENCILS,
    LONG_ROWS_OF_STENCILS,
    PRODUCTS_OF_STENCILS,
    STENCILS,
    VOLUMES_OF_STENCILS,
)

import gpuprims
from gpuprims.cli.text_driver import TextDriver
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.variant import Variant
from gpuprims.expressions.functions import COMPLEX, FUNCTIONS
from gpuprims.primitives.csr import csr_product
from gpuprims.primitives.descent import logistic_descent
from gpuprims.primitives.hogwild import logistic_hogwild
from gpuprims.primitives.logistic import logistic_gradient
from gpuprims.primitives.newton import logistic_newton
from gpuprims.primitives.sgd import logistic_sgd


class IdleKernel:
    """A kernel on a device that runs none; it checks the arguments of its launches."""

    def __init__(self, spec: KernelSpec) -> None:
        self.pointers = spec.pointers

    def prepare(self, groups: int, layout: np.ndarray, *numbers: int, local: int = 0) -> Any:
        def launch(memories: Sequence[Any]) -> None:
            assert len(memories) == self.pointers

        return launch


class CompilingDriver(TextDriver):
    """A device that keeps what it should compile, and checks the arguments of launches."""

    def build(self, variant: Variant, spec: KernelSpec) -> Any:
        super().build(variant, spec)
        return IdleKernel(spec)


def _all_dtypes(**where: Any) -> Any:
    arrays = [np.ones(9, dtype) for dtype in (*DTYPES, *STORED) if dtype != "float64"]
    names = [f"v{k}" for k in range(len(arrays))]
    return gpuprims.map(f"({', '.join(f'{name} + {name}' for name in names)})", *arrays, **where)


def every_complex_function(x: Any) -> Any:
    functions = [FUNCTIONS[name] for name in COMPLEX]
    return sum(function.numpy(*(x, x + 1j)[: function.arity]) for function in functions)


BOTH = gpuprims.Op(lambda p, q: (np.maximum(p[0], q[0]), p[1] + q[1], p[2] | q[2]), (0, 0, False), commutative=True)

MAPS: dict[str, Callable[..., Any]] = {
    "one array": lambda **where: gpuprims.map("2*x + 1", resident(LONG), **where),
    "every dtype but float64, in and out": _all_dtypes,
    "float64 and functions": lambda **where: gpuprims.map(
        "(sin(x)**2 + cos(x)**2, x // y, x % y, where(isnan(x), inf, -y))", resident(9, dtype="f8"), ones(9), **where
    ),
    "integer arithmetic": lambda **where: gpuprims.map(
        "(x // y, x % y, x**3, x << y, x >> y, abs(x), sign(x), ~x, fmod(x, y))", *[ones(9, dtype="i8")] * 2, **where
    ),
    "float16": lambda **where: gpuprims.map("sqrt(x) + y/3", resident(9, dtype="f2"), ones(9, dtype="f2"), **where),
    "complex64": lambda **where: gpuprims.map(
        "(x * y - 1j, abs(x / y), where(x < y, sqrt(x), conj(y)), angle(x) + real(y), bool(x))",
        resident(LONG, dtype="c8"), resident(LONG, dtype="c8"), **where
    ),
    "complex128": lambda **where: gpuprims.map("exp(x) / y + 1j", resident(9, dtype="c16"), ones(9), **where),
    "axes that do not merge": lambda **where: gpuprims.map(
        "x + y - i*j + k", resident(8, 9, 10)[::2, ::3, ::5], ones(3, 1, dtype="u1"), index=("i", "j", "k"), **where
    ),
}  # fmt: skip
TRANSPOSED: dict[str, Callable[..., Any]] = {
    "an array and its transpose": lambda **where: gpuprims.map(
        "x + y", resident(300, 400), resident(400, 300).T, **where
    ),
    "axes in another order, of several dtypes": lambda **where: gpuprims.map(
        "(x + y, y > z)", resident(40, 50, 3, dtype="u1").T, resident(3, 40, 50, dtype="c8").transpose(0, 2, 1),
        resident(50, 40, dtype="i8"), **where
    ),
}  # fmt: skip
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum of float32 by several groups": lambda **where: gpuprims.reduce(resident(LONG), **where),
    "sum of float32 by one group": lambda **where: gpuprims.reduce(resident(9), **where),
    "mean of float16": lambda **where: gpuprims.reduce(resident(LONG, dtype="f2"), op="mean", **where),
    "max of float64 along the outer axis": lambda **where: gpuprims.reduce(
        resident(2000, 300, dtype="f8"), op="max", axis=0, **where
    ),
    "argmax of float32 by several groups": lambda **where: gpuprims.reduce(resident(LONG), op="argmax", **where),
    "argmin of int8 along the inner axis": lambda **where: gpuprims.reduce(
        resident(99, 300, dtype="i1"), op="argmin", axis=1, **where
    ),
    "all of bool": lambda **where: gpuprims.reduce(resident(LONG, dtype="?"), op="all", **where),
    "an operator that does not commute": lambda **where: gpuprims.reduce(
        resident(LONG, dtype="i8"), resident(LONG, dtype="i8"), op=AFFINE, **where
    ),
    "several inputs of several dtypes, several results": lambda **where: gpuprims.reduce(
        resident(LONG, dtype="f2"),
        ones(LONG, dtype="i2"),
        2.5,
        map=lambda x, y, z: (x * z, y + 1, y > 3),
        op=BOTH,
        **where,
    ),
    "two axes of four": lambda **where: gpuprims.reduce(resident(5, 6, 7, 80), axis=(0, 2), **where),
    "sum of complex64 by several groups": lambda **where: gpuprims.reduce(resident(LONG, dtype="c8"), **where),
    "prod of complex128 along the inner axis": lambda **where: gpuprims.reduce(
        resident(99, 300, dtype="c16"), op="prod", axis=1, **where
    ),
    "nothing": lambda **where: gpuprims.reduce(resident(0, 3), axis=0, **where),
} | MASKED
SCANS: dict[str, Callable[..., Any]] = {
    "sum of float32": lambda **where: gpuprims.scan(resident(LONG), **where),
    "exclusive sum of float64": lambda **where: gpuprims.scan(resident(LONG, dtype="f8"), inclusive=False, **where),
    "sum of int8 in itself, in place": lambda **where: _in_place(resident(LONG, dtype="i1"), dtype="i1", **where),
    "max of float16 along rows": lambda **where: gpuprims.scan(
        resident(99, 300, dtype="f2"), op="max", axis=1, **where
    ),
    "mean of float32 along columns": lambda **where: gpuprims.scan(resident(300, 99), op="mean", axis=0, **where),
    "argmax of float32": lambda **where: gpuprims.scan(resident(LONG), op="argmax", **where),
    "prod of complex64": lambda **where: gpuprims.scan(resident(LONG, dtype="c8"), op="prod", **where),
    "an operator that does not commute, exclusive": lambda **where: gpuprims.scan(
        resident(LONG, dtype="i8"), resident(LONG, dtype="i8"), op=AFFINE, inclusive=False, **where
    ),
    "a fused map of two arrays that broadcast": lambda **where: gpuprims.scan(
        resident(300, 99), ones(99, dtype="i2"), map="x*y > 1", **where
    ),
} | BACKWARD
QUEUED = 1 << 25  # elements for a queue of tiles in each multiprocessor
QUEUED_SCANS: dict[str, Callable[..., Any]] = {
    "sum of float32": lambda **where: gpuprims.scan(resident(QUEUED), **where),
    "exclusive max of rows of float16": lambda **where: gpuprims.scan(
        resident(4096, 20_000, dtype="f2"), op="max", inclusive=False, axis=1, **where
    ),
    "sum of uint8": lambda **where: gpuprims.scan(resident(QUEUED, dtype="u1"), **where),
    "sum of float64 in reverse": lambda **where: gpuprims.scan(resident(QUEUED, dtype="f8")[::-1], **where),
    "sum of float32 from the end": lambda **where: gpuprims.scan(resident(QUEUED), reverse=True, **where),
    "pairs in order, rows of one scan": lambda **where: gpuprims.scan(
        resident(900, 20_004, dtype="f4")[:, 3:], resident(900, 20_001, dtype="f4"), op=AFFINE, **where
    ),
    "pairs in order": lambda **where: gpuprims.scan(resident(QUEUED), resident(QUEUED), op=AFFINE, **where),
    "sums of two inputs and of one that broadcasts": lambda **where: gpuprims.scan(
        *(resident(QUEUED, dtype=one) for one in ("f2", "i2")), ones(QUEUED), map="(x * z, y, y > 3)", op=BOTH, **where
    ),
}
SCANNED_COLUMNS: dict[str, Callable[..., Any]] = {
    "sum of columns": lambda **where: gpuprims.scan(resident(30, 5000), axis=0, **where),
    "exclusive max of columns of int8": lambda **where: gpuprims.scan(
        resident(30, 5000, dtype="i1"), op="max", axis=0, inclusive=False, **where
    ),
    "columns under an operator that does not commute, in place": lambda **where: _in_place(
        resident(30, 5000, dtype="i8"), resident(30, 5000, dtype="i8"), op=AFFINE, axis=0, **where
    ),
    "prod of columns of complex128": lambda **where: gpuprims.scan(
        resident(30, 5000, dtype="c16"), op="prod", axis=0, **where
    ),
}

SHARED_COLUMNS: dict[str, Callable[..., Any]] = SCANNED_COLUMNS | {
    "sum of few columns": lambda **where: gpuprims.scan(resident(500_000, 3), axis=0, **where),
    "exclusive max of float16 along a middle axis": lambda **where: gpuprims.scan(
        resident(9, 2000, 70, dtype="f2"), op="max", axis=1, inclusive=False, **where
    ),
}


SCANNED_ROWS: dict[str, Callable[..., Any]] = {
    "sum of rows of one vector a lane": lambda **where: gpuprims.scan(resident(5000, 16), axis=1, **where),
    "exclusive max of rows of several, of int8": lambda **where: gpuprims.scan(
        resident(5000, 1000, dtype="i1"), op="max", axis=1, inclusive=False, **where
    ),
    "prod of rows of complex128": lambda **where: gpuprims.scan(
        resident(5000, 30, dtype="c16"), op="prod", axis=1, **where
    ),
}


def _segmented(mean: int, *dtypes: Any, function: Callable[..., Any] = gpuprims.reduce, **how: Any) -> Any:
    offsets = np.arange(2001) * mean
    return function(*(resident(2000 * mean, dtype=dtype) for dtype in dtypes), segments=offsets, **how)


SEGMENTED: dict[str, Callable[..., Any]] = {
    "sum of float32": lambda **where: _segmented(32, "f4", **where),
    "mean of float16": lambda **where: _segmented(3, "f2", op="mean", **where),
    "argmin of int8": lambda **where: _segmented(100, "i1", op="argmin", **where),
    "prod of complex128": lambda **where: _segmented(100, "c16", op="prod", **where),
    "operator that does not commute": lambda **where: _segmented(9, "f8", "f8", op=AFFINE, **where),
    "a fused map of two arrays": lambda **where: _segmented(9, "f8", "i2", map="x*y > 1", op="any", **where),
    "an operator that does not commute": lambda **where: _segmented(100, "i8", "i8", op=AFFINE, **where),
    "no elements": lambda **where: _segmented(0, "f4", **where),
}
COMPACTIONS: dict[str, Callable[..., Any]] = {
    "float32 by a mask": lambda **where: gpuprims.compact(resident(LONG), resident(LONG, dtype="?"), **where),
    "float64 by a predicate": lambda **where: gpuprims.compact(resident(LONG, dtype="f8"), "x > 0", **where),
    "uint8 by a predicate": lambda **where: gpuprims.compact(resident(LONG, dtype="u1"), "x > 7", **where),
    "float16 and complex128 where they do not lie together": lambda **where: [
        gpuprims.compact(resident(50, 90, dtype=dtype)[::2, ::3], resident(25, 30, dtype="?"), **where)
        for dtype in ("f2", "c16")
    ],
}


LOGISTICS: dict[str, Callable[..., Any]] = {
    "rows of whole vectors": lambda **where: logistic_gradient(
        resident(5000, 100), resident(5000), resident(100), **where
    ),
    "every width of rows": lambda **where: [
        logistic_gradient(resident(5000, k), resident(5000), resident(k), **where) for k in (1, 3, 8, 33, 257, 1024)
    ],
    "every width of rows of integers": lambda **where: [
        logistic_gradient(resident(5000, k, dtype=dtype), resident(5000), resident(k), **where)
        for k in (1, 4, 8, 16, 100)
        for dtype in ("i1", "i2")
    ],
    "an intercept and sample weights, float64": lambda **where: logistic_gradient(
        *(resident(*shape, dtype="f8") for shape in ((5000, 30), (5000,), (31,))),
        sample_weight=resident(5000, dtype="f8"),
        **where,
    ),
}


LOGISTICS_OF_BYTES: dict[str, Callable[..., Any]] = {
    "rows of whole vectors": lambda **where: logistic_gradient(
        resident(5000, 96, dtype="i1"), resident(5000), resident(97), **where
    ),
    "every width of rows": lambda **where: [
        logistic_gradient(resident(5000, k, dtype="i1"), resident(5000), resident(k), **where)
        for k in (1, 3, 8, 33, 100, 257, 1024)
    ],
}


DESCENTS: dict[str, Callable[..., Any]] = {
    "every number of columns": lambda **where: [
        logistic_descent(resident(2048, k), resident(2048), resident(k + 1), rate=0.1, steps=3, **where)
        for k in (1, 4, 8, 15)
    ],
    "sample weights, float64": lambda **where: logistic_descent(
        *(resident(*shape, dtype="f8") for shape in ((500, 30), (500,), (31,))),
        rate=0.1,
        steps=3,
        sample_weight=resident(500, dtype="f8"),
        **where,
    ),
}


def _batch(k: int, *, labels: Any = "f4", dtype: Any = "f4", **how: Any) -> Any:
    """Fit three problems of some features, shared or not."""
    X, y = resident(3, 400, k, dtype=dtype), resident(3, 400, dtype=labels)
    return logistic_newton(X, y, [0.1, 1, 10], **how)


BATCHES: dict[str, Callable[..., Any]] = {
    "few features": lambda **where: [_batch(k, **where) for k in (1, 4, 8, 11)],
    "labels of bool, without an intercept": lambda **where: _batch(5, labels="?", fit_intercept=False, **where),
    "ragged problems": lambda **where: logistic_newton(
        resident(900, 3), resident(900), offsets=[0, 100, 100, 900], **where
    ),
    "sample weights, float64": lambda **where: _batch(
        7, labels="f8", dtype="f8", sample_weight=resident(400, dtype="f8"), **where
    ),
}


def _walk(descent: Callable[..., Any], k: int, dtype: Any = "f4", **how: Any) -> Any:
    """Descend from some weights, with an intercept, by steps in two stretches."""
    X, y, weights = (resident(*shape, dtype=dtype) for shape in ((500, k), (500,), (k + 1,)))
    return descent(X, y, weights, resident(900, dtype="i4"), rate=[0.1, 0.2], keep=0.9, **how)


WALKS: dict[str, Callable[..., Any]] = {
    "rows of whole vectors": lambda **where: _walk(logistic_sgd, 1024, **where),
    "every width of rows": lambda **where: [_walk(logistic_sgd, k, **where) for k in (1, 33, 100, 2049, 16384)],
    "groups as asked for": lambda **where: [
        _walk(logistic_sgd, 100, threads_per_datapoint=threads, datapoints_per_block=rows, **where)
        for threads, rows in ((32, 32), (1, 1), (128, 8), (1, 32))
    ],
    "sample weights, float64": lambda **where: _walk(
        logistic_sgd, 300, "f8", sample_weight=resident(500, dtype="f8"), **where
    ),
}
HOGWILD: dict[str, Callable[..., Any]] = {
    "rows": lambda **where: _walk(logistic_hogwild, 1024, **where),
    "rows shared by few and by many": lambda **where: [
        _walk(logistic_hogwild, 100, threads_per_datapoint=threads, **where) for threads in (1, 8, 256)
    ],
    "sample weights, float64": lambda **where: _walk(
        logistic_hogwild, 30, "f8", sample_weight=resident(500, dtype="f8"), **where
    ),
}


def _sparse(mean: int, *outputs: int, dtype: Any = np.float32, integer: Any = np.int32, **where: Any) -> Any:
    indptr = np.arange(0, 500 * mean + 1, mean, dtype=integer)
    stored = resident(500 * mean, dtype=dtype), resident(500 * mean, dtype=integer), indptr
    return csr_product(*stored, resident(60, *outputs, dtype=dtype), **where)


PRODUCTS: dict[str, Callable[..., Any]] = {
    "a vector, rows of every length": lambda **where: [_sparse(mean, **where) for mean in (1, 2, 5, 50)],
    "every number of outputs": lambda **where: [_sparse(9, outputs, **where) for outputs in (1, 2, 5, 8, 11)],
    "float64, integers of 64 bits": lambda **where: [
        _sparse(40, *outputs, dtype="f8", integer=np.int64, **where) for outputs in ((), (7,))
    ],
}


SEGMENTED_SCANS: dict[str, Callable[..., Any]] = {
    "sum of float32": lambda **where: _segmented(32, "f4", function=gpuprims.scan, **where),
    "exclusive sum of int8": lambda **where: _segmented(32, "i1", function=gpuprims.scan, inclusive=False, **where),
    "mean of float16": lambda **where: _segmented(3, "f2", function=gpuprims.scan, op="mean", **where),
    "affine maps": lambda **where: _segmented(9, "f8", "f8", function=gpuprims.scan, op=AFFINE, **where),
}


def _in_place(*arrays: Any, **how: Any) -> Any:
    return gpuprims.scan(*arrays, out=arrays if len(arrays) > 1 else arrays[0], **how)


# Primitives whose variants all take the same calls.
_ALL_ALIKE: dict[str, dict[str, Callable[..., Any]]] = {
    "compact": COMPACTIONS,
    "csr": PRODUCTS,
    "descent": DESCENTS,
    "hogwild": HOGWILD,
    "newton": BATCHES,
    "segments": SEGMENTED,
    "segscan": SEGMENTED_SCANS,
    "selection": selection_calls.SELECTIONS,
    "sgd": WALKS,
    "sort": sort_calls.SORTS,
    "top_k": selection_calls.TOP_K,
    **place_calls.PLACES,
}


def calls(variant: Variant) -> dict[str, Callable[..., Any]]:
    """Return calls that a variant does not refuse."""
    alone: dict[str, dict[str, Callable[..., Any]]] = selection_calls.ALONE | sort_calls.ALONE | place_calls.ALONE
    if variant.entry in alone:
        return alone[variant.entry]
    if variant.primitive == "map":
        return TRANSPOSED if variant.name in ("tile", "cpu_blocks") else MAPS
    if variant.primitive == "scan":
        own = {
            "columns": SHARED_COLUMNS,
            "column_runs": SHARED_COLUMNS,
            "each": SCANNED_COLUMNS,
            "rows": SCANNED_ROWS,
            "queues": QUEUED_SCANS | QUEUED_BACKWARD,
            "fixed_queues": QUEUED_SCANS,
            "fixed_rows": FIXED_ROWS,
            "fixed_columns": FIXED_COLUMNS,
        }
        return own.get(variant.name, SCANS)
    if variant.entry == "logistic_fixed_point":
        return LOGISTICS_OF_BYTES
    if variant.primitive == "logistic":
        return {
            name: call for name, call in LOGISTICS.items() if variant.name == "fused" or not name.startswith("every")
        }
    if variant.primitive in _ALL_ALIKE:
        return _ALL_ALIKE[variant.primitive]
    if variant.primitive == "stencil":
        alone = {"columns": COLUMNS_OF_STENCILS, "separable": PRODUCTS_OF_STENCILS, "volumes": VOLUMES_OF_STENCILS}
        alone |= dict.fromkeys(("long_rows", "cpu_long_rows"), LONG_ROWS_OF_STENCILS)
        if variant.name in alone:
            return alone[variant.name]
        functions = "a function", "ranks, and sums that are rounded"
        left = {"direct": ("",), "dense": functions, "cpu_dense": functions}.get(variant.name, ("many weights",))
        return {name: call for name, call in STENCILS.items() if name not in left}
    if variant.primitive == "histogram":
        own = {"bytes": BYTES, "local_atomic": LOCAL, "packed": PACKED, "partitioned": MANY_BINS}
        return own.get(variant.name, HISTOGRAMS)
    alone = {"each": MANY_OUTPUTS, "rows": ROWS, "staged": TOGETHER}
    alone |= {"fixed_few": FEW_OF_MANY, "fixed_columns": TREE_COLUMNS}
    return alone.get(variant.name, REDUCTIONS)
