"""The reference kernels: what ``map`` and ``reduce`` mean, over the same definitions and layouts that kernels get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gpuprims.definitions import Definitions
from gpuprims.driver import Capabilities
from gpuprims.layout import View
from gpuprims.registry import Call, Variant


def _able(capabilities: Capabilities, call: Call) -> str | None:
    return None


def _elements(definitions: Definitions, inputs: Sequence[View], layout: np.ndarray, o: int, n: int) -> list[np.ndarray]:
    """Apply MAP everywhere: one array of shape (o, n) for each component of the values."""
    numbers = iter(layout[1:].tolist())
    first = definitions.inputs[0]
    kept = [next(numbers) for _ in first.kept]
    reduced = [next(numbers) for _ in first.reduced]
    offsets = [next(numbers) for _ in inputs]
    kept_steps = [[next(numbers) for _ in first.kept] for _ in inputs]
    reduced_steps = [[next(numbers) for _ in first.reduced] for _ in inputs]
    loaded = []
    for view, offset, across, along in zip(inputs, offsets, kept_steps, reduced_steps, strict=True):
        memory = view.memory.view(view.dtype) if view.dtype.names else view.memory
        strides = [step * view.dtype.itemsize for step in (*across, *along)]
        start = memory[offset:] if offset else memory
        loaded.append(as_strided(start, (*kept, *reduced), strides, writeable=False).reshape(o, n))
    if definitions.map is None:
        names = loaded[0].dtype.names
        return [loaded[0][name] for name in names] if names else loaded
    index = np.broadcast_to(np.arange(n), (o, n))
    return [np.broadcast_to(value, (o, n)) for value in definitions.map(*loaded, index)]


def _store(definitions: Definitions, outputs: Sequence[View], values: Sequence[Any], count: int) -> None:
    """STORE everywhere: finish the values and write them in order."""
    if definitions.finish is None:
        target = outputs[0].memory.view(outputs[0].dtype)
        for name, value in zip(target.dtype.names or (...,), values, strict=True):
            target[name] = value
        return
    counted = definitions.finish.steps[len(values)].dtype.type(count)
    for view, result in zip(outputs, definitions.finish(*values, counted), strict=True):
        view.memory.reshape(-1)[:] = result


def map_numpy(
    definitions: Definitions, inputs: Sequence[View], outputs: Sequence[View], layout: np.ndarray, count: int
) -> None:
    """Apply MAP to every element."""
    values = [value[:, 0] for value in _elements(definitions, inputs, layout, count, 1)]
    _store(definitions, outputs, values, 1)


def reduce_numpy(
    definitions: Definitions,
    inputs: Sequence[View],
    outputs: Sequence[View],
    layout: np.ndarray,
    kept: int,
    n: int,
    parts: int,
) -> None:
    """Fold neighbours until one value is left of each row, which keeps order and rounds like pairwise summation."""
    if definitions.op is None:
        raise TypeError("reduce_numpy: definitions with an operator; got none")
    if n:
        values = _elements(definitions, inputs, layout, kept, n)
    else:
        values = [np.full((kept, 1), scalar) for scalar in definitions.identity]
    while values[0].shape[1] > 1:
        even = values[0].shape[1] // 2 * 2
        folded = definitions.op(*(v[:, 0:even:2] for v in values), *(v[:, 1:even:2] for v in values))
        values = [np.concatenate([f, v[:, even:]], axis=1) for f, v in zip(folded, values, strict=True)]
    _store(definitions, outputs, [value[:, 0] for value in values], int(layout[0]))


# Far more items than any array has: one part, so that a fold is one pass.
_WHOLE = 2**62

VARIANTS = (
    Variant("map", "numpy", "reference", map_numpy, rank=0, block=1, items=_WHOLE, refuse=_able),
    Variant("reduce", "numpy", "reference", reduce_numpy, rank=0, block=1, items=_WHOLE, refuse=_able),
)
