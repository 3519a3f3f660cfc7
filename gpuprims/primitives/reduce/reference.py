"""reduce in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gpuprims.core.kernel_spec import value_bytes
from gpuprims.primitives.exact_sums import ExactSpec, LimbsSpec, limbs_exactly, sums_exactly
from gpuprims.primitives.fixed_trees import fold_fixed, lanes_of
from gpuprims.primitives.fold_spec import FoldSpec
from gpuprims.primitives.reference import Places


def reduce_numpy(
    spec: FoldSpec, memories: Sequence[np.ndarray], layout: np.ndarray, kept: int, n: int, parts: int, shift: int
) -> None:
    """Fold lanes of fixed blocks, and then neighbours, by the tree that kernels for every device have."""
    if parts != 1:
        raise TypeError(f"reduce_numpy: one part; got {parts}")
    places = Places(spec, memories, layout)
    if n:
        lanes = lanes_of(value_bytes(spec.values))
        values = fold_fixed(spec.op, places.elements(kept, n), lanes, commutative=spec.commutative)
    else:
        values = [np.full(kept, scalar) for scalar in spec.identity]
    places.store(values, int(layout[0]), reduced=False)


def reduce_exactly(
    spec: ExactSpec, memories: Sequence[np.ndarray], layout: np.ndarray, kept: int, n: int, parts: int
) -> None:
    """Add floats exactly, as integers of a wide range, and round once."""
    if parts != 1:
        raise TypeError(f"reduce_exactly: one part; got {parts}")
    places = Places(spec, memories, layout)
    (values,) = places.elements(kept, n) if n else [np.zeros((kept, 0), spec.values[0])]
    if isinstance(spec, LimbsSpec):
        words = limbs_exactly(values)
        first = places.see(len(spec.inputs), reduced=False)
        shape, strides = (*first.shape[:-1], words.shape[1]), (*first.strides[:-1], words.itemsize)
        as_strided(first, shape, strides)[...] = words.reshape(shape)
        return
    places.store([sums_exactly(values)], int(layout[0]), reduced=False)
