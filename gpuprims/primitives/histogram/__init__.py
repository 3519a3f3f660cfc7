"""histogram and bincount: how many elements lie in each bin."""

from __future__ import annotations

from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.primitive import Primitive
from gpuprims.primitives.histogram.calls import bind, count_numbers, count_values
from gpuprims.primitives.histogram.plan import plan_call, sample
from gpuprims.primitives.histogram.variants import VARIANTS

PRIMITIVE = Primitive("histogram", VARIANTS, plan_call, sample, bind, tuning_case=f"{__name__}.tuning_case")


def histogram(
    x: Any,
    bins: Any = 10,
    range: tuple[float, float] | None = None,  # noqa: A002 - NumPy's name
    density: bool | None = None,
    weights: Any = None,
    *,
    axis: int | tuple[int, ...] | None = None,
    deterministic: bool = True,
    device: str | Device | None = None,
    variant: str | None = None,
) -> tuple[Any, Any]:
    """Count the elements in each bin, as :func:`numpy.histogram`.

    Parameters
    ----------
    x : array_like
        Real numbers, of any shape.
    bins : int or array_like, default 10
        How many bins of one width, or their edges, ascending.
    range : (low, high), optional
        The first and the last edge of so many bins; by default the smallest and the largest element. Elements outside
        are left out, as NaN is.
    density : bool, optional
        Return, instead of counts, a density whose integral over the bins is 1.
    weights : array_like, optional
        What each element counts, of the shape of ``x``; sums have their dtype.
    axis : int or tuple of int, optional
        Count along these axes alone, for a histogram of each row; all have the same edges.
    deterministic : bool, default True
        Whether sums of float weights are to be the same from run to run. Without, they are added by atomic operations
        as they come.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, instead of the best one.

    Returns
    -------
    counts : array
        Of int64, or the dtype of the weights, or float64 of a density; along its last axis the bins, after the axes
        that are not counted along.
    edges : array
        One more than there are bins.

    Raises
    ------
    ArgumentError, ShapeError, AxisError
        Bins that do not rise, a range that is not finite, weights of another shape.
    DtypeError
        Complex elements.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.reduce`.

    Notes
    -----
    A bin holds its left edge, and the last one its right edge too. The bin of an element on an edge, or so near to one
    that arithmetic rounds, is NumPy's. So that sums are the same from run to run, float weights are cut into integers
    on GPUs, by the size of the largest in their bin, and added up in order on CPUs.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> counts, edges = gpuprims.histogram([1, 2, 1, 4], bins=[0, 1, 2, 3], device="reference")
    >>> counts, edges
    (array([0, 2, 1]), array([0, 1, 2, 3]))
    >>> gpuprims.histogram(np.float32([[0, 1, 1], [2, 2, 9]]), bins=3, range=(0, 3), axis=1, device="reference")[0]
    array([[1, 2, 0],
           [0, 0, 2]])
    """
    return count_values(x, bins, range, weights, axis, device, variant, density=bool(density), repeat=deterministic)


def bincount(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    axis: int | None = None,
    deterministic: bool = True,
    device: str | Device | None = None,
    variant: str | None = None,
) -> Any:
    """Count how often each number occurs, as :func:`numpy.bincount`.

    Parameters
    ----------
    x : array_like of int
        Not negative; of one dimension, or of any with ``axis``.
    weights : array_like, optional
        What each element counts, of the shape of ``x``; the sums are float64.
    minlength : int, default 0
        Fewest numbers to count; as many as the largest element and one, if that is more.
    axis : int, optional
        Count along this axis alone, for counts of each row.
    deterministic : bool, default True
        Whether sums of float weights are to be the same from run to run; see :func:`gpuprims.histogram`.
    device : str or Device, optional
        Where to compute, for host arrays.
    variant : str, optional
        The kernel to use, of a histogram's, instead of the best one.

    Returns
    -------
    array
        Of int64, or of float64 with weights; the numbers are along its last axis. Of int64 for an empty array, with or
        without weights, as in NumPy. The call waits for the largest number.

    Raises
    ------
    ArgumentError, ShapeError, AxisError, DtypeError
        A negative element or length, elements that are not integers.
    ArrayError, DeviceMismatchError, NoVariantError
        As :func:`gpuprims.reduce`.

    Examples
    --------
    >>> import gpuprims
    >>> gpuprims.bincount([0, 1, 1, 3, 2, 1, 7], device="reference")
    array([1, 3, 1, 1, 0, 0, 0, 1])
    >>> gpuprims.bincount([0, 1, 1], weights=[0.5, 1, 2], minlength=3, device="reference")
    array([0.5, 3. , 0. ])
    """
    return count_numbers(x, weights, minlength, axis, device, variant, repeat=deterministic)
