"""scatter: the inverse of take, for indices that are a permutation."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.driver import Launch
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.layout import Form, plan_layout
from gpuprims.core.operands import as_operands
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.expressions import trace, typed
from gpuprims.primitives.take.spec import as_words

_INT64 = np.dtype(np.int64)
_ELEMENT = trace(lambda element, index, j: element, 3)
_SAME = trace(lambda value, j, element, index: value, 4)
_PLACE = trace(lambda value, j, element, index: index.astype(np.int64), 4)


def scatter(x: Any, indices: Any, *, device: str | Device | None = None) -> Any:
    """Return ``y`` with ``y[indices[i]] = x[i]``, for arrays of one dimension.

    The indices must name each place once; nothing checks them. NumPy's ``put`` promises more: an order among equal
    indices.
    """
    operands = as_operands("scatter", (x, indices), device)
    elements = operands.natives[0]
    result = operands.empty(elements.shape, elements.dtype)
    if elements.size:
        (first, second), memories = operands.place()
        launch = _launch(first, second, operands.form(result), operands.device, REGISTRY.generation)
        launch([*memories, operands.memory(result)])
    return operands.to_caller(result)


@keeps_calls()
def _launch(elements: Form, indices: Form, result: Form, device: Device, generation: int) -> Launch:
    """Return a launch of map that writes each element to its place."""
    (size,), word = elements.shape, as_words(elements.dtype)
    forms = elements._replace(dtype=word), indices, result._replace(dtype=word)
    layout = plan_layout(forms, (size,), (0,))
    behind = word, _INT64, word, indices.dtype
    spec = KernelSpec(
        layout.accesses[:2],
        layout.accesses[2:],
        (word,),
        typed(_ELEMENT, (word, indices.dtype, _INT64), (word,)),
        typed(_SAME, behind, (word,)),
        typed(_PLACE, behind, (_INT64,)),
    )
    chosen = device.select("map", CallTraits((word, indices.dtype), 1, size, value_bytes=word.itemsize))
    groups = chosen.groups(-(-size // chosen.tile), device.capabilities)
    return device.kernel(chosen, spec).prepare(groups, layout.pack(0), size)
