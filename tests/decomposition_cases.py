"""What tests of PCA, PPCA, FactorAnalysis and SparsePCA share."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.models import PCA, PPCA, FactorAnalysis, SparsePCA

# Each model with parameters that make its fits short.
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "PCA": (PCA, {}),
    "PCA, whitened": (PCA, {"whiten": True}),
    "PPCA": (PPCA, {}),
    "PPCA by EM": (PPCA, {"method": "em", "tol": 1e-3, "max_iter": 200, "random_state": 0}),
    "FactorAnalysis": (FactorAnalysis, {}),
    "SparsePCA": (SparsePCA, {"max_iter": 20}),
}


def hidden_causes(n: int, k: int, *, seed: int = 0, offset: float = 0.0) -> np.ndarray:
    """Return samples with three hidden causes of distinct lengths, and noise that differs between features."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((3, k)) * np.array([[3.0], [2.0], [1.2]])
    noise = rng.uniform(0.3, 0.7, k)
    X: np.ndarray = rng.standard_normal((n, 3)) @ loadings + rng.standard_normal((n, k)) * noise + offset
    return X


def with_signs_of(rows: np.ndarray) -> np.ndarray:
    """Return rows whose elements of largest magnitude are positive."""
    largest = rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)]
    found: np.ndarray = rows * np.sign(largest)[:, None]
    return found
