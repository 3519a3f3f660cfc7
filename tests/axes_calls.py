"""Calls of reduce and scan with many outputs, for tests that compile kernels and do not run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from idle_arrays import ones, resident
from kernel_cases import AFFINE

import gpuprims

COLUMNS: dict[str, Callable[..., Any]] = {
    "sum of columns": lambda **where: gpuprims.reduce(resident(5000, 300), axis=0, **where),
    "sum of columns of complex64": lambda **where: gpuprims.reduce(resident(5000, 300, dtype="c8"), axis=0, **where),
    "var of neighbouring columns at once": lambda **where: gpuprims.reduce(
        resident(5000, 64), op="var", axis=0, **where
    ),
    "argmax of columns of float64": lambda **where: gpuprims.reduce(
        resident(5000, 300, dtype="f8"), op="argmax", axis=0, **where
    ),
    "columns under an operator that does not commute": lambda **where: gpuprims.reduce(
        resident(5000, 300, dtype="i8"), resident(5000, 300, dtype="i8"), op=AFFINE, axis=0, **where
    ),
}
MANY_OUTPUTS: dict[str, Callable[..., Any]] = COLUMNS | {
    "sum of short rows": lambda **where: gpuprims.reduce(resident(5000, 16), axis=1, **where),
    "mean of short rows of float16": lambda **where: gpuprims.reduce(
        resident(5000, 16, dtype="f2"), op="mean", axis=1, **where
    ),
    "places in an array in Fortran order": lambda **where: gpuprims.reduce(
        resident(70, 60, 50).T[:, :, 1:], op="argmax", axis=0, **where
    ),
}
# Columns of the fixed tree, whose lanes have one element or several.
TREE_COLUMNS: dict[str, Callable[..., Any]] = COLUMNS | {
    "sum of short columns": lambda **where: gpuprims.reduce(resident(100, 3000), axis=0, **where),
}
ROWS: dict[str, Callable[..., Any]] = {
    "sum of rows of one vector a lane": lambda **where: gpuprims.reduce(resident(5000, 16), axis=1, **where),
    "sum of rows of several": lambda **where: gpuprims.reduce(resident(5000, 1000), axis=1, **where),
    "argmin of rows of int8": lambda **where: gpuprims.reduce(
        resident(5000, 77, dtype="i1"), op="argmin", axis=1, **where
    ),
    "prod of rows of complex128": lambda **where: gpuprims.reduce(
        resident(5000, 30, dtype="c16"), op="prod", axis=1, **where
    ),
    "rows under an operator that does not commute": lambda **where: gpuprims.reduce(
        resident(5000, 300, dtype="i8"), resident(5000, 300, dtype="i8"), op=AFFINE, axis=1, **where
    ),
}


TOGETHER: dict[str, Callable[..., Any]] = {
    "sum of rows that lie together": lambda **where: gpuprims.reduce(resident(5000, 17), axis=1, **where),
    "max of rows of float16": lambda **where: gpuprims.reduce(resident(5000, 5, dtype="f2"), op="max", axis=1, **where),
    "rows of complex64": lambda **where: gpuprims.reduce(resident(5000, 99, dtype="c8"), axis=1, **where),
    "rows under an operator that does not commute": lambda **where: gpuprims.reduce(
        resident(5000, 33), resident(5000, 33), op=AFFINE, axis=1, **where
    ),
}
# Outputs of few elements, of which a lane or a few fold each in the order of fixed_trees.py.
FEW_OF_MANY: dict[str, Callable[..., Any]] = {
    "sum of rows": lambda **where: gpuprims.reduce(resident(2000, 100), axis=1, **where),
    "sum of longer rows": lambda **where: gpuprims.reduce(resident(2000, 3000), axis=1, **where),
    "variance of rows of float64": lambda **where: gpuprims.reduce(
        resident(1024, 21, dtype="f8"), op="var", axis=1, **where
    ),
    "sum of short columns": lambda **where: gpuprims.reduce(resident(17, 5000), axis=0, **where),
    "prod of rows of complex64 in reverse": lambda **where: gpuprims.reduce(
        resident(3000, 9, dtype="c8")[:, ::-1], op="prod", axis=1, **where
    ),
    "a fused map of two arrays that broadcast": lambda **where: gpuprims.reduce(
        resident(3000, 64), ones(64, dtype="i2"), map="x*y > 1", axis=1, **where
    ),
}
# Scans of short rows, and of columns, in the order of fixed_scans.py.
FIXED_ROWS: dict[str, Callable[..., Any]] = {
    "sum of rows of several runs": lambda **where: gpuprims.scan(resident(5000, 256), axis=1, **where),
    "exclusive max of rows of several pieces, of int8": lambda **where: gpuprims.scan(
        resident(5000, 1000, dtype="i1"), op="max", axis=1, inclusive=False, **where
    ),
    "sum of several rows of a lane": lambda **where: gpuprims.scan(resident(5000, 3), axis=1, **where),
    "sum of long rows of float64": lambda **where: gpuprims.scan(resident(2000, 4096, dtype="f8"), axis=1, **where),
    "prod of rows of complex128 in reverse": lambda **where: gpuprims.scan(
        resident(5000, 30, dtype="c16")[:, ::-1], op="prod", axis=1, **where
    ),
    "rows under an operator that does not commute": lambda **where: gpuprims.scan(
        resident(5000, 100), resident(5000, 100), op=AFFINE, axis=1, **where
    ),
}
FIXED_COLUMNS: dict[str, Callable[..., Any]] = {
    "sum of columns of several tiles": lambda **where: gpuprims.scan(resident(70_000, 256), axis=0, **where),
    "sum of short columns": lambda **where: gpuprims.scan(resident(16, 9000), axis=0, **where),
    "exclusive max of columns of int8": lambda **where: gpuprims.scan(
        resident(4096, 5000, dtype="i1"), op="max", axis=0, inclusive=False, **where
    ),
    "prod of few columns of complex128": lambda **where: gpuprims.scan(
        resident(5000, 8, dtype="c16"), op="prod", axis=0, **where
    ),
    "sum of float64 along a middle axis": lambda **where: gpuprims.scan(
        resident(9, 2000, 70, dtype="f8"), axis=1, **where
    ),
    "columns under an operator that does not commute": lambda **where: gpuprims.scan(
        resident(300, 5000), resident(300, 5000), op=AFFINE, axis=0, **where
    ),
}
