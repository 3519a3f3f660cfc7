"""The reference kernels: what ``map`` and ``reduce`` mean, over the same definitions and layouts that kernels get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gpuprims.definitions import Definitions
from gpuprims.driver import Capabilities
from gpuprims.registry import Call, Variant


def _able(capabilities: Capabilities, call: Call) -> str | None:
    return None


def _elements(definitions: Definitions, inputs: Sequence[np.ndarray], layout: np.ndarray, o: int, n: int) -> list[Any]:
    """Apply MAP everywhere: one array of shape (o, n) for each component of the values."""
    numbers = iter(layout[1:].tolist())
    first = definitions.inputs[0]
    lengths = [next(numbers) for _ in (*first.kept, *first.reduced)]
    offsets = [next(numbers) for _ in inputs]
    kept_steps = [[next(numbers) for _ in first.kept] for _ in inputs]
    reduced_steps = [[next(numbers) for _ in first.reduced] for _ in inputs]
    loaded = []
    for access, memory, offset, *steps in zip(
        definitions.inputs, inputs, offsets, kept_steps, reduced_steps, strict=True
    ):
        strides = [step * access.dtype.itemsize for step in (*steps[0], *steps[1])]
        start = memory[offset:] if offset else memory
        loaded.append(as_strided(start, lengths, strides, writeable=False).reshape(o, n))
    index = np.broadcast_to(np.arange(n), (o, n))
    return [np.broadcast_to(value, (o, n)) for value in definitions.map(*loaded, index)]


def _store(definitions: Definitions, outputs: Sequence[np.ndarray], values: Sequence[Any], count: int) -> None:
    """STORE everywhere: finish the values and write them in order."""
    counted = definitions.finish.steps[len(values)].dtype.type(count)
    for output, result in zip(outputs, definitions.finish(*values, counted), strict=True):
        output.reshape(-1)[:] = result


def map_numpy(definitions: Definitions, memories: Sequence[np.ndarray], layout: np.ndarray, count: int) -> None:
    """Apply MAP to every element."""
    inputs, outputs = _split(definitions, memories)
    values = [value[0] for value in _elements(definitions, inputs, layout, 1, count)]
    _store(definitions, outputs, values, 1)


def reduce_numpy(
    definitions: Definitions, memories: Sequence[np.ndarray], layout: np.ndarray, kept: int, n: int, parts: int
) -> None:
    """Fold neighbours until one value is left of each row, which keeps order and rounds like pairwise summation."""
    if definitions.op is None or parts != 1:
        raise TypeError(f"reduce_numpy: an operator and one part; got {definitions.op} and {parts}")
    inputs, outputs = _split(definitions, memories)
    if n:
        values = _elements(definitions, inputs, layout, kept, n)
    else:
        values = [np.full((kept, 1), scalar) for scalar in definitions.identity]
    while values[0].shape[1] > 1:
        even = values[0].shape[1] // 2 * 2
        folded = definitions.op(*(v[:, 0:even:2] for v in values), *(v[:, 1:even:2] for v in values))
        values = [np.concatenate([f, v[:, even:]], axis=1) for f, v in zip(folded, values, strict=True)]
    _store(definitions, outputs, [value[:, 0] for value in values], int(layout[0]))


def _split(
    definitions: Definitions, memories: Sequence[np.ndarray]
) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
    inputs, outputs = len(definitions.inputs), len(definitions.outputs)
    return memories[:inputs], memories[inputs : inputs + outputs]


# Far more items than any array has: one part, so that a fold is one pass.
_WHOLE = 2**62

VARIANTS = (
    Variant("map", "numpy", "reference", map_numpy, rank=0, block=1, items=_WHOLE, refuse=_able),
    Variant("reduce", "numpy", "reference", reduce_numpy, rank=0, block=1, items=_WHOLE, refuse=_able),
)
