"""descent: many steps of batch gradient descent of logistic regression, in one launch."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import Prepared, Result
from gpuprims.core.layout import Form, contiguous, starts_of
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.primitive import Primitive
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, quoted
from gpuprims.primitives.descent.spec import DescentSpec
from gpuprims.primitives.descent.variants import VARIANTS
from gpuprims.primitives.logistic.labelled import check_samples, judge
from gpuprims.primitives.logistic.variants import LogisticVariant
from gpuprims.primitives.together import side_by_side

PRIMITIVE = Primitive("descent", VARIANTS)

_LABEL = "descent"
# Work-items of the smallest group, which has the least to fold; and bytes of a vector of rows on CPUs.
_FEWEST, _CPU_VECTOR = 128, 64


def logistic_descent(
    X: Any,
    y: Any,
    weights: Any,
    *,
    rate: float,
    steps: int,
    decay: float = 0.0,
    sample_weight: Any = None,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Return weights after steps of batch gradient descent of binary logistic regression.

    Parameters
    ----------
    X, y, weights, sample_weight
        As of :func:`~gpuprims.primitives.logistic.logistic_gradient`; labels are 0 or 1.
    rate : float
        What the gradient of the summed log loss is multiplied by in a step.
    steps : int
        How many, one or more.
    decay : float, default 0.0
        What part of each coefficient a step takes off: the penalty's. An intercept has none.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array of the shape of ``weights``
        After ``w -= decay*w + rate * X.T @ (s * (sigmoid(X @ w) - y))`` so many times; on the device if ``X`` is. The
        same from run to run.

    Raises
    ------
    ArrayError, DtypeError, ShapeError, DeviceMismatchError, ArgumentError
        Arguments that do not fit.
    NoVariantError
        No kernel, or not the one asked for, can run the call: samples stay in the registers of one group of a
        GPU, or in the cache of one core, so they must be small.

    Notes
    -----
    What a step's rounding takes off a weight is kept for the next step (Kahan's sum), so that weights of float32 do not
    stand still where steps are small. The iteration is that of "OpenCL logistic regression with gradient ascent" (the
    repository logReg), which starts a kernel for each.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.descent import logistic_descent
    >>> X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, 0.0])
    >>> logistic_descent(X, y, np.zeros(2), rate=0.1, steps=2, device="reference").round(3)
    array([-0.172,  0.279])
    """
    given = (X, y, weights) if sample_weight is None else (X, y, weights, sample_weight)
    operands = as_operands(_LABEL, given, device)
    check_samples(_LABEL, operands.natives)
    rates = np.array([decay, rate], operands.natives[0].dtype)
    operands = side_by_side(operands)
    operands = operands.beside(rates if operands.on_host else operands.device.asarray(rates))
    return _run(operands, steps, variant)


def descend(arrays: tuple[Any, ...], steps: int, device: Device) -> Any:
    """Return weights after so many steps, of arrays that a call of :func:`logistic_descent` has checked before.

    They lie on the device, and the last one has ``decay`` and ``rate``.
    """
    return _run(as_operands(_LABEL, arrays, device), steps, None)


def _run(operands: Operands, steps: int, variant: str | None) -> Any:
    if steps < 1:
        raise ArgumentError(f"{_LABEL}: steps, one or more; got {quoted(steps)}")
    where = operands.forms, operands.fresh_alignment, operands.device
    return _prepare(*where, operator.index(steps), asked_by_name(_LABEL, variant), REGISTRY.generation).run(
        operands, None
    )


def able_to_descend(device: Device, dtype: np.dtype[Any], rows: int, columns: int) -> bool:
    """Return whether a kernel of a device takes so many samples, of so many features, the intercept's with them."""
    call = CallTraits((dtype,), rows, columns, value_bytes=dtype.itemsize)
    return device.explain(_LABEL, call).chosen is not None


@keeps_calls()
def _prepare(
    forms: tuple[Form, ...], alignment: int, device: Device, steps: int, variant: str | None, generation: int
) -> Prepared:
    """Decide everything about a :func:`logistic_descent` but the memory; the last form is of ``decay`` and ``rate``."""
    dtype, (n, k) = forms[0].dtype, forms[0].shape
    result = Result(forms[2].shape, dtype)
    call = CallTraits((dtype,), n, result.shape[0], value_bytes=dtype.itemsize)
    chosen = LogisticVariant.of(device.select(_LABEL, call, variant))
    layout = starts_of((*forms, contiguous(dtype, result.shape, alignment)))
    accesses = layout.accesses
    spec = DescentSpec(
        accesses[:-1],
        accesses[-1:],
        (dtype,),
        judge(dtype),
        features=k,
        intercept=result.shape[0] != k,
        weighted=len(forms) == 5,
    )
    chosen, spec = _held(chosen, spec, n)
    launch = device.kernel(chosen, spec).prepare(1, layout.pack(0), n, steps)
    vectors = -(-n // spec.judged)
    copied = vectors * spec.judged * (spec.columns + spec.weighted) * dtype.itemsize
    scratch = copied if chosen.scratch == "rows" else 0
    return Prepared(chosen, (result,), True, launch, tuple(range(len(forms))), (0,), scratch=scratch)


def _held(variant: LogisticVariant, spec: DescentSpec, n: int) -> tuple[LogisticVariant, DescentSpec]:
    """Fix how rows are held: so many for each work-item of a group, or so many side by side."""
    if not variant.word_items:
        return variant, replace(spec, judged=_CPU_VECTOR // spec.values[0].itemsize)
    block = min(_FEWEST, variant.block)
    while -(-n // block) * spec.columns * value_words(spec.values) > variant.items:
        block *= 2
    return variant.resized(block=block), replace(spec, rows=-(-n // block))
