"""The conformance kit: check a variant, a backend or a primitive, of this library or of another package.

Each check raises :class:`AssertionError` with the label, the rule, and what was got. The calls to make, and NumPy's
results, are those of a primitive's :class:`~gpuprims.core.tuning_case.TuningCase`.
"""

from gpuprims.testing.backends import check_backend
from gpuprims.testing.primitives import check_primitive
from gpuprims.testing.variants import check_variant

__all__ = ["check_backend", "check_primitive", "check_variant"]
