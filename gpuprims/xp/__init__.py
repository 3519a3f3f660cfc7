"""The array API's functions, computed by primitives, for arrays of any library.

https://data-apis.org/array-api/ defines their names, signatures and dtypes. They take arrays of NumPy, CuPy, pyopencl,
torch or JAX, and return arrays of the same library. For functions that no primitive can compute, the error says what
to use instead.

Examples
--------
>>> import numpy as np, gpuprims
>>> xp, x = gpuprims.xp, np.array([3.0, 1.0, 2.0])
>>> with gpuprims.use_device("reference"):
...     xp.sum(xp.square(x) * 2).item(), xp.argmax(x).item(), xp.cumulative_sum(x).tolist()
(28.0, 0, [3.0, 4.0, 6.0])
"""

from typing import Never

from gpuprims.errors import absent
from gpuprims.expressions.functions import ALIASES
from gpuprims.xp.elementwise import (
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    astype,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    clip,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    positive,
    pow,
    real,
    reciprocal,
    remainder,
    round,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
    where,
)  # fmt: skip
from gpuprims.xp.folds import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
    vecdot,
)  # fmt: skip
from gpuprims.xp.ordering import (
    argsort,
    isin,
    nonzero,
    searchsorted,
    sort,
    take,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)  # fmt: skip

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "negative",
    "nonzero",
    "not_equal",
    "positive",
    "pow",
    "prod",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "searchsorted",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sort",
    "sqrt",
    "square",
    "std",
    "subtract",
    "sum",
    "take",
    "tan",
    "tanh",
    "trunc",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "var",
    "vecdot",
    "where",
]  # fmt: skip

_SHAPES = "these only move elements or change shapes: use the array's library"
_MAKES = "these create arrays: use the array's library"
_LINEAR = "gpuprims has no linear algebra: use the array's library"
_DTYPES = "these are about dtypes: use NumPy's functions"
# Names of the array API that no primitive computes, by what to do instead.
REFUSED = {
    _SHAPES: "broadcast_arrays broadcast_to concat expand_dims flip matrix_transpose moveaxis permute_dims repeat"
    " reshape roll squeeze stack tile unstack",
    _MAKES: "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu"
    " zeros zeros_like",
    _LINEAR: "matmul tensordot linalg fft",
    _DTYPES: "broadcast_shapes can_cast finfo iinfo isdtype result_type",
    "write take(x, indices, axis=...) for the same indices along an axis": "take_along_axis",
    "kernels cannot step to the next float: add or subtract an epsilon": "nextafter",
}


# NumPy's names of functions that have another one here.
_INSTEAD = {known: name for name, known in ALIASES.items() if name in __all__} | {
    "invert": "bitwise_invert", "left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "true_divide": "divide", "mod": "remainder", "rint": "round", "amax": "max", "amin": "min", "average": "mean",
    "cumsum": "cumulative_sum", "cumprod": "cumulative_prod", "unique": "unique_values", "concatenate": "concat",
    "array": "asarray", "transpose": "permute_dims", "swapaxes": "moveaxis", "dot": "matmul", "einsum": "matmul",
}  # fmt: skip


def __getattr__(name: str) -> Never:
    meant = _INSTEAD.get(name, name)
    refused = next((reason for reason, names in REFUSED.items() if meant in names.split()), None)
    raise absent(__name__, name, __all__, _INSTEAD, f" ({refused})" if refused else "")


def __dir__() -> list[str]:
    return list(__all__)
