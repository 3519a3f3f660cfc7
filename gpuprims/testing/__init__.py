"""The conformance kit: check a variant, a backend or a primitive, of this library or of another package.

A check raises :class:`AssertionError` with the label, the rule and what it got. A primitive's
:class:`~gpuprims.core.tuning_case.TuningCase` has the calls to make and NumPy's results.
"""

from gpuprims.testing.backends import check_backend
from gpuprims.testing.primitives import check_primitive
from gpuprims.testing.variants import check_variant

__all__ = ["check_backend", "check_primitive", "check_variant"]
