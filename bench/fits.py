"""The works that fit models: every solver of LogReg, paths, batches, and sparse samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from . import fit_calls as calls
from .elements import SEED, Samples
from .works import Sizes, Work

# Stored elements of a row of sparse samples.
_PER_ROW = 50


@dataclass(frozen=True)
class Sparse(Samples):
    """Sparse samples with a number of columns, as the arrays of a CSR matrix, and random labels."""

    def host(self, size: int) -> list[np.ndarray]:
        """Return data, indices, where rows begin, and labels."""
        rng = np.random.default_rng(SEED)
        # As with words, the frequency of a column is about the inverse of its rank.
        ranks = (self.columns ** rng.random((size, _PER_ROW))).astype(np.int32) - 1
        indices = np.sort(ranks, axis=1)
        indices[0, -1] = self.columns - 1  # so that all columns are known
        data = rng.random((size, _PER_ROW), dtype=np.float32)
        truth = rng.standard_normal(self.columns)
        scores = (data * truth[indices]).sum(axis=1)
        y = (rng.random(size) < 1 / (1 + np.exp(-scores))).astype(self.dtype)
        begins = np.arange(size + 1, dtype=np.int32) * np.int32(_PER_ROW)
        return [data.ravel(), indices.ravel(), begins, y]

    def label(self, size: int) -> str:
        """Return the label of a size."""
        return f"CSR {size:,} x {self.columns:,} {self.dtype}"


@dataclass(frozen=True)
class Problems(Samples):
    """Samples of problems of 2,048 rows, or of a single smaller one."""

    def host(self, size: int) -> list[np.ndarray]:
        """Return samples, labels and weights for so many rows in all."""
        X, y, weights = super().host(size)
        rows = min(size, calls.ROWS)
        return [X.reshape(-1, rows, self.columns), y.reshape(-1, rows), weights]

    def label(self, size: int) -> str:
        """Return the label of a size."""
        return f"{size // calls.ROWS:,} x {calls.ROWS:,} x {self.columns} {self.dtype}"


def _fit(name: str, peer: calls.Fit, sizes: str, *, share: float = 1e-5, **parameters: Any) -> Work:
    optimum = calls.Optimum(calls.sklearns(), share)
    how: dict[str, Any] = {"inputs": Samples(100), "sizes": sizes, "limit": "", "library": "scikit-learn"}
    return Work(f"fit {name}", "fit", 0, calls.ours(**parameters), peer, optimum.check, optimum.expect, **how)


def _mixed(solver: str) -> Work:
    """Return fits with squares and magnitudes in equal shares."""
    peer = calls.sklearns(solver="saga", l1_ratio=0.5, max_iter=1000)
    optimum = calls.Optimum(peer, 1e-3, partial(calls.objective, l1_ratio=0.5))
    how: dict[str, Any] = {"inputs": Samples(100), "sizes": "path", "limit": "", "library": "scikit-learn"}
    call = calls.ours(solver=solver, l1_ratio=0.5)
    return Work(f"fit by {solver}", "fit", 0, call, peer, optimum.check, optimum.expect, **how)


def _path(name: str, l1_ratio: float) -> Work:
    peer = partial(calls.sklearns_path, l1_ratio=l1_ratio)
    optimum = calls.Optimum(peer, 1e-3, calls.of_path(l1_ratio))
    how: dict[str, Any] = {"inputs": Samples(100), "sizes": "path", "limit": "", "library": "scikit-learn"}
    call = partial(calls.path, l1_ratio=l1_ratio)
    return Work(f"path of 5 penalties on {name}", "fit", 0, call, peer, optimum.check, optimum.expect, **how)


def _of_csr() -> Work:
    # Both end where no slope exceeds 1e-4, which is up to 1e-3 above the optimum of so many columns.
    optimum = calls.Optimum(calls.sklearns_of_csr, 1e-3)
    how: dict[str, Any] = {"inputs": Sparse(5000), "sizes": "csr", "limit": "", "library": "scikit-learn"}
    how |= {"on_host": True}
    return Work("fit of CSR", "fit", 0, calls.of_csr, calls.sklearns_of_csr, optimum.check, optimum.expect, **how)


def _batch() -> Work:
    optimum = calls.Optimum(calls.sklearns_batch, 1e-5, calls.of_batch)
    how: dict[str, Any] = {"inputs": Problems(8), "sizes": "batch", "limit": "", "library": "scikit-learn"}
    return Work("batch of fits", "fit", 0, calls.batch, calls.sklearns_batch, optimum.check, optimum.expect, **how)


_LBFGS, _NEWTON = calls.sklearns(), calls.sklearns(solver="newton-cholesky")
_BY_EPOCHS: dict[str, Any] = {"sizes": "epochs", "share": 0.1, "max_iter": calls.EPOCHS}

FITS = (
    _fit("by lbfgs", _LBFGS, "fit"),
    _fit("by lbfgs, composed", _LBFGS, "fit", solver="lbfgs", composed=True),
    _fit("by newton-cholesky", _NEWTON, "newton", solver="newton-cholesky"),
    _fit("by gd", _LBFGS, "newton", solver="gd", share=1e-4, max_iter=1000),
    _fit("by minibatch", calls.sklearns_sgd, solver="minibatch", **{**_BY_EPOCHS, "share": 0.2}),
    _fit("by sgd", calls.sklearns_sgd, solver="sgd", **_BY_EPOCHS),
    _fit("by hogwild", calls.sklearns_sgd, solver="hogwild", **_BY_EPOCHS),
    _mixed("newton-cd"),
    _mixed("fista"),
    _fit("of int8 features", _LBFGS, "newton", share=1e-2, feature_dtype="int8"),
    _of_csr(),
    _path("squares", 0.0),
    _path("magnitudes", 1.0),
    _batch(),
)

FIT_SIZES = {
    "fit": Sizes((10**5,), (10**6,), (10**5,), (10**6,)),
    "newton": Sizes((), (10**5,), (10**5,), (10**6,)),
    "epochs": Sizes((), (20_000,), (20_000,), (20_000,)),
    "csr": Sizes((), (20_000,), (20_000,), (100_000,)),
    "path": Sizes((), (20_000,), (20_000,), (100_000,)),
    "batch": Sizes((), (100 * calls.ROWS,), (100 * calls.ROWS,), (1000 * calls.ROWS,)),
}
