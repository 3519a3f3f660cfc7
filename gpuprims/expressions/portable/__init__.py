"""Functions that have the same bits on each device, in operations that IEEE 754 rounds exactly, and in integers.

Compilers and NumPy each have an ``exp`` of their own, and these differ in the last place. Here is one text of each
function, which computes on NumPy arrays as it stands; :mod:`gpuprims.expressions.same_bits` traces it, and writes it as
C for kernels. Results are at most one unit in the last place from the correctly rounded ones (decision 0033).

A function takes its operands and their :class:`.formats.Format`. float16 is computed in float32 and rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuprims.expressions.portable import circular, exponential, hyperbolic, inverse, logarithm, power, roots, signs
from gpuprims.expressions.portable.formats import FORMATS, Format


@dataclass(frozen=True)
class Definition:
    """The text of a portable function. ``name`` is the function's that it replaces."""

    name: str
    arity: int
    text: Callable[..., Any]

    def __call__(self, *operands: Any) -> Any:
        """Compute on NumPy arrays of one dtype."""
        dtype = np.result_type(*operands)
        form = FORMATS["float32" if dtype == np.float16 else dtype.name]
        with np.errstate(all="ignore"):  # kernels do not warn either
            result = self.text(*(np.asarray(operand, form.name) for operand in operands), form)
            return result if result.dtype == np.bool_ else result.astype(dtype, copy=False)

    def of(self, form: Format) -> Callable[..., Any]:
        """Return the function of operands in a format."""
        return lambda *operands: self.text(*operands, form)


# Functions of one and of two operands. NumPy has neither ``cube``, ``fourth`` nor ``plain``.
_OF_ONE = (
    exponential.exp, exponential.exp2, exponential.expm1, logarithm.log, logarithm.log2, logarithm.log10,
    logarithm.log1p, circular.sin, circular.cos, circular.tan, inverse.arcsin, inverse.arccos, inverse.arctan,
    hyperbolic.sinh, hyperbolic.cosh, hyperbolic.tanh, hyperbolic.arcsinh, hyperbolic.arccosh, hyperbolic.arctanh,
    roots.cbrt, roots.cube, roots.fourth, signs.signbit, signs.plain,
)  # fmt: skip
_OF_TWO = (
    power.power, inverse.arctan2, roots.hypot, signs.copysign, signs.maximum, signs.minimum, signs.fmax, signs.fmin,
)  # fmt: skip
# Functions that compute nothing: they choose one of their operands, or change its sign.
CHOICES = ("signbit", "plain", "copysign", "maximum", "minimum", "fmax", "fmin")
DEFINITIONS: Mapping[str, Definition] = {
    text.__name__: Definition(text.__name__, arity, text)
    for arity, texts in ((1, _OF_ONE), (2, _OF_TWO))
    for text in texts
}
