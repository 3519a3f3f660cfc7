"""explain: which variant a call would run, and what every other one says."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuprims.core.choice import Explanation
from gpuprims.core.device import Device, pick_device
from gpuprims.core.kernel_spec import value_bytes, value_words
from gpuprims.core.traits import CallTraits
from gpuprims.errors import ArgumentError, quoted
from gpuprims.expressions import computable, expression
from gpuprims.operators import Op, find_op, make_folding
from gpuprims.primitives.histogram.binning import check_bins, key_dtype
from gpuprims.primitives.histogram.traits import HistogramTraits
from gpuprims.primitives.stencil.traits import Neighbourhood, StencilTraits

PRIMITIVES = (
    *("map", "reduce", "scan", "segments", "compact", "histogram", "stencil"),
    *("logistic", "descent", "sgd", "hogwild", "csr"),
)


def explain(
    primitive: str,
    device: str | Device | None = None,
    *,
    dtype: Any = "float32",
    size: int = 2**20,
    outputs: int = 1,
    side_by_side: bool = False,
    op: str | Op = "sum",
    bins: int = 256,
) -> Explanation:
    """Say which variant of a primitive a device would run, and why not the others.

    Parameters
    ----------
    primitive : str
        ``"map"``, ``"reduce"``, ``"scan"``, ``"segments"``, folds of segments, and ``"compact"``, of which own kernels
        come before those of a scan, ``"histogram"``, ``"stencil"``, of three rows and columns, ``"logistic"``, the
        gradient of :func:`gpuprims.primitives.logistic.logistic_gradient`, ``"descent"``, steps by it in one launch,
        ``"sgd"`` and ``"hogwild"``, steps by single samples, or ``"csr"``, the product of
        :func:`gpuprims.primitives.csr.csr_product`.
    device : str or Device, optional
        By default the device that host arrays go to.
    dtype : dtype, default float32
        Of the array.
    size : int, default 2**20
        Elements of the array; of a reduce or scan along an axis, elements of each output; of the longest
        segment.
    outputs : int, default 1
        Outputs of a reduce; segments; of a scan along an axis, how many it does; of logistic regression, features of a
        sample; of a sparse matrix, rows.
    side_by_side : bool, default False
        Whether neighbouring outputs read neighbouring elements, as the columns of a matrix do.
    op : str or Op, default "sum"
        The operator of a reduce or scan.
    bins : int, default 256
        Of a histogram.

    Returns
    -------
    Explanation
        Prints as a list; ``.chosen`` is the variant.

    Examples
    --------
    >>> import gpuprims
    >>> print(gpuprims.explain("reduce", "reference"))  # doctest: +ELLIPSIS
    reduce on <gpuprims.Device reference:0 ...>:
      chosen  numpy          rank 0   Fold neighbours until one value is left of each row, ...
    """
    if primitive not in PRIMITIVES:
        raise ArgumentError(f"explain: a primitive among {', '.join(PRIMITIVES)}; got {quoted(primitive)}")
    element = computable(dtype, "explain")
    found = pick_device(None, device)
    if primitive == "map":
        call = CallTraits((element,), 1, size, value_bytes=4 * value_words((element,)))
    elif primitive == "histogram":
        call = HistogramTraits((element, key_dtype(element)), size, outputs, bins=check_bins("explain", bins))
    elif primitive == "stencil":
        reads = Neighbourhood(lines=True, across=False, table=False, span=3, beside=2, taps=9)
        call = StencilTraits((element, element, element), size, neighbourhood=reads)
    elif primitive in ("logistic", "descent", "sgd", "hogwild", "csr"):
        call = CallTraits((element,), size, outputs, value_bytes=element.itemsize, side_by_side=True)
    elif primitive in ("compact", "segments"):
        dtypes = element, np.dtype(np.int32)
        count = outputs if primitive == "segments" else 1
        own = found.explain(primitive, CallTraits(dtypes, size, count))
        scans = found.explain("scan", CallTraits(dtypes, size * count))
        tuned = scans.tuned if own.ranked is None else own.tuned
        return Explanation(primitive, repr(found), (*own.refusals, *scans.refusals), tuned, found.capabilities)
    else:
        operator = find_op(op)
        elements = (element,) * operator.elements
        same = expression(lambda *given: given, operator.elements)
        folding = make_folding(operator, same, elements, None, primitive)
        nbytes = value_bytes(folding.values)
        picks = folding.better is not None
        call = CallTraits(
            (*elements, *folding.values), size, outputs, operator.commutative, nbytes, side_by_side, picks
        )
    return found.explain(primitive, call)
