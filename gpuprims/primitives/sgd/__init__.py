"""sgd: logistic regression by stochastic gradient descent, exactly one sample after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.kernel_spec import value_words
from gpuprims.core.launch_plan import Prepared, Result, in_turn
from gpuprims.core.primitive import Primitive
from gpuprims.core.program_cache import keeps_calls
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.core.variant_checks import asked_by_name
from gpuprims.errors import ArgumentError
from gpuprims.primitives.map import map as map_arrays
from gpuprims.primitives.rows import vector_of
from gpuprims.primitives.sgd.planning import MOST_BLOCK, Walk, power, takes_none, walked
from gpuprims.primitives.sgd.variants import VARIANTS, SgdVariant

PRIMITIVE = Primitive("sgd", VARIANTS)

_LABEL = "sgd"
# Samples of a run at most, for each of which a lane keeps the score, and work-items that fold scores together.
_LANES = 32
# Numbers of 32 bits that a work-item has of a run's rows and of the weights, so that all stay in registers.
_MOST_HELD = 144
# Registers of a multiprocessor of NVIDIA's, and those of a work-item that are for anything else.
_REGISTERS, _OTHER_REGISTERS = 65_536, 24
# Numbers of a run that a work-item has where they do not: the steps are written out for each.
_MOST_WRITTEN = 1024
# Bytes of products that are computed before steps are taken; more steps go in several rounds.
_MOST_PRODUCTS = 64 << 20
# Bytes of local memory that kernels declare: NVIDIA's OpenCL lends not quite all of 48 KiB.
_MOST_LOCAL = 48 * 1024 - 64


def logistic_sgd(
    X: Any,
    y: Any,
    weights: Any,
    order: Any,
    *,
    rate: Any,
    keep: Any = 1.0,
    sample_weight: Any = None,
    threads_per_datapoint: int | None = None,
    datapoints_per_block: int | None = None,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Return the weights of binary logistic regression after steps by single samples, one after the other.

    Parameters
    ----------
    X : array_like of shape (n, k), float32 or float64
        A row for each sample. Rows side by side in memory are read where they lie; others are copied together first.
    y : array_like of shape (n,)
        Labels, 0 or 1, of the dtype of ``X``.
    weights : array_like of shape (k,) or (k + 1,)
        Where to start, of the same dtype; one more than there are features is the intercept's.
    order : array_like of int32
        The sample of each step, from 0 to n - 1; several times round are one array. Numbers that lie on a device are
        not checked.
    rate : float or array_like of shape (r,)
        How far steps go. Several are for as many stretches of ``order``, all equally long: for each time round, or for
        each step.
    keep : float or array_like of shape (r,), default 1.0
        The part of the coefficients, not of the intercept, that a step keeps: ``1 - rate * penalty``.
    sample_weight : array_like of shape (n,), optional
        What each sample counts, of the dtype of ``X``; by default 1.
    threads_per_datapoint, datapoints_per_block : int, optional
        Of "gram": work-items for each sample of a run, and samples of a run, up to 32, powers of two. Their product, up
        to 1024, is the group, which has 32 at least. By default what holds a run in registers.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    array of the shape of ``weights``
        After ``w = keep*w - rate*s*(sigmoid(x @ w + b) - y)*x`` for each sample in order, and of the intercept ``b``
        the same with 1 for ``keep`` and ``x``. It is on the device if ``X`` is, and the same from run to run.

    Raises
    ------
    ArgumentError, ArrayError, DtypeError, ShapeError, DeviceMismatchError
        Arguments that do not fit.
    NoVariantError
        No kernel, or not the one asked for, can run the call.

    Notes
    -----
    A step changes the scores of the samples behind it by its error times their products with its own sample. "gram"
    computes these products for all runs of samples at once, their Gram matrices, and the scores of a run together; what
    is left to do one after the other is an exponential for each sample. The steps are those of single samples all the
    same, up to rounding.

    Source: H. Robbins and S. Monro, "A Stochastic Approximation Method", 1951.

    Examples
    --------
    >>> import numpy as np
    >>> from gpuprims.primitives.sgd import logistic_sgd
    >>> X, y = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([1.0, 0.0])
    >>> logistic_sgd(X, y, np.zeros(2), np.int32([0, 0]), rate=0.5, device="reference").round(3)
    array([0.361, 0.723])
    """
    threads = power(_LABEL, "threads_per_datapoint", threads_per_datapoint, MOST_BLOCK)
    rows = power(_LABEL, "datapoints_per_block", datapoints_per_block, _LANES)
    arrays = (X, y, weights) if sample_weight is None else (X, y, weights, sample_weight)
    operands, walk = walked(_LABEL, arrays, order, rate, keep, device)
    if not walk.steps:
        return map_arrays("x", weights, device=operands.device)
    prepared = _prepare(
        walk, _Asked(threads, rows), operands.device, asked_by_name(_LABEL, variant), REGISTRY.generation
    )
    return prepared.run(operands, None)


class _Asked(NamedTuple):
    """What the caller says of a group."""

    threads: int | None
    rows: int | None

    def __str__(self) -> str:
        return f"threads_per_datapoint={self.threads} and datapoints_per_block={self.rows}"


@keeps_calls()
def _prepare(walk: Walk, asked: _Asked, device: Device, variant: str | None, generation: int) -> Prepared:
    chosen = SgdVariant.of(device.select(_LABEL, walk.call, variant))
    results, places = (Result(walk.result, walk.dtype),), tuple(range(len(walk.forms)))
    if chosen.scratch == "products":
        return _with_products(walk, chosen, asked, device)._replace(results=results, inputs=places)
    takes_none(_LABEL, chosen, threads_per_datapoint=asked.threads, datapoints_per_block=asked.rows)
    kernel = device.kernel(chosen, walk.spec(lanes=1))
    launch = kernel.prepare(1, walk.layout.pack(0), walk.steps, walk.stretch)
    return Prepared(chosen, results, True, launch, places, (0,), tickets=1)


def _with_products(walk: Walk, chosen: Variant, asked: _Asked, device: Device) -> Prepared:
    """Fix the launches of a kernel for which products of samples are computed before it steps."""
    able, packed = device.capabilities, walk.layout.pack(0)
    group = _group(walk, asked, able)
    fitted = chosen.resized(block=group.block)
    kernel = device.kernel(fitted, walk.spec(lanes=_LANES, rows=group.rows, vector=group.vector(walk)))
    runs = walk.stretches * -(-walk.stretch // group.rows)
    each = group.rows**2 * walk.dtype.itemsize
    most = _MOST_PRODUCTS // each
    launches = []
    for first in range(0, runs, most):
        count = min(most, runs - first)
        groups = fitted.groups(count, able), 1
        launches += [kernel.prepare(groups[step], packed, walk.stretch, first, count, step) for step in (0, 1)]
    return Prepared(fitted, (), True, in_turn(launches), (), (0,), tickets=1, scratch=min(runs, most) * each)


class _Group(NamedTuple):
    """How many work-items a group has, and how many samples a run."""

    block: int
    rows: int

    def local_bytes(self, item: int) -> int:
        """Return what the kernel declares: Gram matrices, sums, a value for each work-item, a tile, two runs' order."""
        matrices, sums = 2 * self.rows**2, 2 * self.block // _LANES * self.rows
        return (matrices + sums + self.block + self.rows * (_LANES + 1)) * item + 8 * self.rows

    def vector(self, walk: Walk) -> int:
        """Return how many columns a work-item reads at once: no more than leave all of them as few as can be."""
        widths = [1 << k for k in range(vector_of(walk.forms[0]).bit_length())]
        return min(reversed(widths), key=lambda width: self._columns(walk, width))

    def held(self, walk: Walk) -> int:
        """Return how many columns of each row a work-item has."""
        return self._columns(walk, self.vector(walk))

    def _columns(self, walk: Walk, vector: int) -> int:
        return -(-walk.features // (vector * self.block)) * vector


def _group(walk: Walk, asked: _Asked, able: Capabilities) -> _Group:
    """Return the group that holds the longest runs in registers, and of these the least; else what the caller asks."""
    words, local = value_words((walk.dtype,)), min(able.local_memory, _MOST_LOCAL)
    candidates = list(_candidates(asked, min(able.group_limit, MOST_BLOCK)))
    for group in candidates:
        room = min(_MOST_HELD, _REGISTERS // group.block - _OTHER_REGISTERS)
        fits = group.held(walk) * (group.rows + 1) * words <= room
        if fits and group.local_bytes(walk.dtype.itemsize) <= local:
            return group
    if not candidates:
        rule = f"a group of {min(able.group_limit, MOST_BLOCK)} work-items at most, the product of both"
        raise ArgumentError(f"{_LABEL}: {rule}; got {asked}")
    slow = candidates[-1]
    written, needed = slow.held(walk) * slow.rows, slow.local_bytes(walk.dtype.itemsize)
    if written > _MOST_WRITTEN:
        rule = f"{_MOST_WRITTEN} numbers of a run at most for a work-item"
        raise ArgumentError(f"{_LABEL}: {rule}; got {written} by {asked} (more threads, or fewer datapoints)")
    if needed > local:
        rule = f"a group of which {local} bytes of local memory hold a run"
        raise ArgumentError(f"{_LABEL}: {rule}; got {needed} by {asked} (fewer of either)")
    return slow


def _candidates(asked: _Asked, limit: int) -> Iterator[_Group]:
    """Yield groups, those of the longest runs first."""
    for rows in [asked.rows] if asked.rows else [32, 16, 8, 4, 2, 1]:
        blocks = [asked.threads * rows] if asked.threads else [32, 64, 128, 256]
        yield from (_Group(max(block, _LANES), rows) for block in blocks if block <= limit)
