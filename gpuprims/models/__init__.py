"""Models built from the primitives, with scikit-learn's interface; loading them loads scikit-learn."""

from gpuprims.models.logreg import LogReg

__all__ = ["LogReg"]
