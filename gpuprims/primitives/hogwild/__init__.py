"""hogwild: logistic regression by stochastic gradient descent of many workers at once, without locks."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import Prepared, Result, in_turn
from gpuprims.core.primitive import Primitive
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError, quoted
from gpuprims.primitives.hogwild.variants import VARIANTS
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.sgd.planning import MOST_BLOCK, Walk, power, takes_none, walked, whole

PRIMITIVE = Primitive("hogwild", VARIANTS)

_LABEL = "hogwild"


def logistic_hogwild(
    X: Any,
    y: Any,
    weights: Any,
    order: Any,
    *,
    rate: Any,
    keep: Any = 1.0,
    sample_weight: Any = None,
    threads_per_datapoint: int | None = None,
    workers: int | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Return the weights of binary logistic regression after steps by single samples, several at the same time.

    Parameters
    ----------
    X, y, weights, order, rate, keep, sample_weight
        As for :func:`gpuprims.primitives.sgd.logistic_sgd`.
    threads_per_datapoint : int, optional
        Work-items that share a sample, a power of two; by default 32 of a GPU, one of a CPU.
    workers : int, optional
        Samples that are worked on at the same time; by default a few for each compute unit of a GPU, one for each of a
        CPU, and no more than one for 32 samples: each works with weights that the others are about to change. One
        worker alone takes the steps of :func:`gpuprims.primitives.sgd.logistic_sgd`.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array of the shape of ``weights``
        On the device if ``X`` is. It **differs from run to run**, as the workers meet.

    Raises
    ------
    ArgumentError, ArrayError, DtypeError, ShapeError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Notes
    -----
    Each worker takes a sample in turn, reads the weights as they are, and adds its step to each of them by an atomic
    operation. On CPUs those are slow, and :func:`gpuprims.primitives.sgd.logistic_sgd` is faster.

    Source: F. Niu, B. Recht, C. Re and S. Wright, "HOGWILD!: A Lock-Free Approach to Parallelizing Stochastic Gradient
    Descent", 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.hogwild import logistic_hogwild
    >>> X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, 0.0])
    >>> logistic_hogwild(X, y, np.zeros(2), np.int32([0, 0]), rate=0.5, device="reference").round(3)
    array([0.361, 0.723])
    """
    threads = power(_LABEL, "threads_per_datapoint", threads_per_datapoint, MOST_BLOCK)
    if workers is not None and not whole(workers):
        raise ArgumentError(f"{_LABEL}: workers= one or more; got {quoted(workers)}")
    arrays = (X, y, weights) if sample_weight is None else (X, y, weights, sample_weight)
    operands, walk = walked(_LABEL, arrays, order, rate, keep, device)
    if not walk.steps:
        return map_arrays("x", weights, device=operands.device)
    prepared = _prepare(walk, threads, workers, operands.device, asked_by_name(_LABEL, variant), REGISTRY.generation)
    return prepared.run(operands, None)


@keeps_calls()
def _prepare(
    walk: Walk, threads: int | None, workers: int | None, device: Device, variant: str | None, generation: int
) -> Prepared:
    chosen, able = device.select(_LABEL, walk.call, variant), device.capabilities
    if device.backend == "reference":
        takes_none(_LABEL, chosen, threads_per_datapoint=threads, workers=workers)
    lanes = threads or (chosen.block if able.kind == "gpu" else 1)
    block = 1 if lanes == 1 and able.kind != "gpu" else max(lanes, chosen.block)
    if block > able.group_limit:
        raise ArgumentError(f"{_LABEL}: threads_per_datapoint= up to {able.group_limit}; got {threads}")
    fitted, packed = chosen.resized(block=block), walk.layout.pack(0)
    kernel = device.kernel(fitted, walk.spec(lanes=lanes, lock_free=True))
    count = workers or _workers(chosen, walk, device)
    groups = fitted.groups(-(-walk.result[0] // block), able), -(-count // (block // lanes))
    numbers = walk.steps, walk.stretch, count
    launches = [kernel.prepare(groups[part], packed, *numbers, part) for part in (0, 1)]
    results, places = (Result(walk.result, walk.dtype),), tuple(range(len(walk.forms)))
    return Prepared(fitted, results, True, in_turn(launches), places, (0,), tickets=1)


def _workers(variant: Variant, walk: Walk, device: Device) -> int:
    """Return how many samples to work on at once: no more than a small part of all there are."""
    able = device.capabilities
    most = able.compute_units * (variant.groups_per_unit or 1) if able.kind == "gpu" else able.compute_units
    return max(min(most, walk.samples // variant.items), 1)
