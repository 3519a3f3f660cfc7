"""The logistic gradient in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprims.primitives.fixed_lanes import folded_lanes, settled
from gpuprims.primitives.logistic.tree import TREE_BLOCK, FixedLogisticSpec, Tree


def logistic_numpy(
    spec: FixedLogisticSpec, memories: Sequence[np.ndarray], layout: np.ndarray, n: int, *numbers: int
) -> None:
    """Compute the scores and the gradient by the fixed tree."""
    if numbers[-1]:  # the first launch does all
        return
    rows, labels, weights, *sample_weights = memories[: len(spec.inputs) - spec.by_columns]
    rows = rows.astype(weights.dtype, copy=False)
    loss, gradient = memories[len(spec.inputs) : -2]
    tree, k = spec.tree, spec.features
    scores = _scores(rows, weights[:k], tree) + sum(weights[k:])
    losses, residuals = spec.map(scores, labels, *(sample_weights or [np.ones_like(labels)]))
    terms = np.column_stack([rows * residuals[:, np.newaxis], residuals, losses])
    sums = settled(terms.dtype)(_added(terms, tree))[0]
    loss[...], gradient[...] = sums[-1], sums[: len(gradient)]


def _scores(rows: np.ndarray, weights: np.ndarray, tree: Tree) -> np.ndarray:
    """Return each row's products, added by lanes."""
    n, k = rows.shape
    products = np.zeros((n, tree.chunks * tree.lanes * tree.vector), rows.dtype)
    products[:, :k] = rows * weights
    lanes = np.zeros((n, tree.lanes), rows.dtype)
    for chunk in np.moveaxis(products.reshape(n, tree.chunks, tree.lanes, tree.vector), 1, 0):
        for item in range(tree.vector):
            lanes += chunk[:, :, item]
    return folded_lanes(lanes)


def _added(terms: np.ndarray, tree: Tree) -> np.ndarray:
    """Add rows of terms: those of a slot, the slots of a part, and the parts."""
    n, width = terms.shape
    padded = np.zeros((tree.parts * tree.rows, width), terms.dtype)
    padded[:n] = terms
    slots = np.zeros((tree.parts, tree.slots, width), terms.dtype)
    for turn in np.moveaxis(padded.reshape(tree.parts, -1, tree.slots, width), 1, 0):
        slots += turn
    parts = np.zeros((-(-tree.parts // TREE_BLOCK) * TREE_BLOCK, width), terms.dtype)
    parts[: tree.parts] = folded_lanes(slots)
    sums = np.zeros((1, TREE_BLOCK, width), terms.dtype)
    for some in parts.reshape(-1, TREE_BLOCK, width):
        sums[0] += some
    added: np.ndarray = folded_lanes(sums)[0]
    return added
