"""DeviceGroup: several devices of one host, and the primitives on arrays that are cut among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.determinism import Level, at_level
from gpuprims.core.device import Device
from gpuprims.distributed.counts import compacted, counted, numbers_counted
from gpuprims.distributed.devices import Devices
from gpuprims.distributed.exchange import all_reduced
from gpuprims.distributed.folds import reduced, scanned
from gpuprims.distributed.halos import applied, reaches
from gpuprims.distributed.maps import mapped
from gpuprims.distributed.processes import Processes
from gpuprims.distributed.sharded import ShardedArray, scattered, taken
from gpuprims.distributed.sorting import best_of_shards, sorted_shards
from gpuprims.operators import Op
from gpuprims.primitives.stencil import stencil as stencil_one
from gpuprims.primitives.stencil.blur import Kind
from gpuprims.primitives.stencil.blur import blur as blur_one
from gpuprims.primitives.stencil.spec import Mode


class DeviceGroup(Devices):
    """Several devices of one host, for arrays that are cut among them along their first axis.

    Parameters
    ----------
    devices : iterable of str or Device
        In the order of the shards. The same device may be named several times.
    processes : Processes, optional
        Other processes, each with a group of its own devices, that make the same calls. An array is then the rows of
        all of them, in order of the processes, and each has its own part. Results on the host are those of all rows.

    Raises
    ------
    ArgumentError, UnknownDeviceError, BackendUnavailableError
        No device, or one that cannot be used.

    Attributes
    ----------
    devices : tuple of Device

    Notes
    -----
    A method starts the work of all devices, and returns when it has started or, for numbers on the host, ended. Calls
    that wait for their device, as ``compact`` and all calls on CPUs do, have a thread for each device. Shards join in
    their order, so results are the same in every run. Sums of floats may differ in the last bits from those of another
    number of devices.

    Threads use CuPy's default stream. If your own work fills shards in another stream, wait for it first.

    If a shard fails, the other devices finish their work, and the call raises: :class:`gpuprims.errors.ShardError`
    with the device's name, or the error itself, with a note, if the arguments are wrong.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> group = gpuprims.DeviceGroup(["reference", "reference"])
    >>> x = group.scatter(np.float32([3, 1, 4, 1, 5]))
    >>> float(group.reduce(x)), float(group.reduce(x, op="max"))
    (14.0, 5.0)
    >>> group.scan(x).gather()
    array([ 3.,  4.,  8.,  9., 14.], dtype=float32)
    """

    devices: tuple[Device, ...]

    def __init__(self, devices: Iterable[str | Device], *, processes: Processes | None = None) -> None:
        super().__init__(devices, processes)

    def scatter(self, x: Any, *, like: ShardedArray | None = None) -> ShardedArray:
        """Cut an array along its first axis and copy the parts to the devices.

        Parameters
        ----------
        x : array_like
            On the host or a device. Devices that compute in the host's memory get views of a host array.
        like : ShardedArray, optional
            Cut at the same rows as this array; by default into nearly equal parts.

        Returns
        -------
        ShardedArray

        Raises
        ------
        ShapeError
            An array without axes, or with another number of rows than ``like``.
        """
        return scattered(self, x, None if like is None else like.offsets)

    def from_shards(self, shards: Sequence[Any]) -> ShardedArray:
        """Take arrays that lie on the devices already, such as CuPy's or torch's, without a copy.

        Parameters
        ----------
        shards : sequence of arrays
            One on each device, in order. Shapes may differ along the first axis. Host arrays are copied to devices that
            have memory of their own.

        Returns
        -------
        ShardedArray

        Raises
        ------
        DeviceMismatchError, ShapeError, DtypeError, ArrayError
            An array on another device, of another shape or dtype, or the wrong number of arrays.
        """
        return taken(self, shards)

    def map(self, fn: Any, /, *arrays: Any, **named: Any) -> Any:
        """Apply a function to each element, as :func:`gpuprims.map`.

        Parameters
        ----------
        fn : callable or str
        *arrays, **named : ShardedArray or number
            Cut at the same rows.

        Returns
        -------
        ShardedArray or tuple of them
        """
        return mapped(self, fn, arrays, named)

    def reduce(
        self,
        *arrays: ShardedArray,
        op: str | Op | Callable[..., Any] = "sum",
        map: Any = None,  # noqa: A002 - the fused map, under the primitive's name
        axis: int | tuple[int, ...] | None = None,
        keepdims: bool = False,
        dtype: Any = None,
        ddof: float = 0,
        compensated: bool = False,
        where: ShardedArray | None = None,
        initial: Any = None,
        determinism: Level | None = None,
    ) -> Any:
        """Fold elements with an operator; the parameters are those of :func:`gpuprims.reduce`.

        At the level "order", sums have the same bits for any devices, any number of them, and any order of elements.

        Returns
        -------
        scalar, array, or tuple of them
            NumPy's, on the host, if ``axis`` contains the first axis; else a ShardedArray.
        """
        how = op, map, axis, keepdims, dtype, ddof, compensated, where, initial
        return at_level("DeviceGroup.reduce", determinism, reduced, self, arrays, *how)

    def scan(
        self,
        *arrays: ShardedArray,
        op: str | Op | Callable[..., Any] = "sum",
        map: Any = None,  # noqa: A002 - the fused map, under the primitive's name
        inclusive: bool = True,
        axis: int | None = None,
        dtype: Any = None,
        initial: Any = None,
    ) -> Any:
        """Compute a prefix sum, or another running fold; the parameters are those of :func:`gpuprims.scan`.

        Returns
        -------
        ShardedArray or tuple of them
        """
        return scanned(self, arrays, op, map, inclusive, axis, dtype, initial)

    def histogram(
        self,
        x: ShardedArray,
        bins: Any = 10,
        range: tuple[float, float] | None = None,  # noqa: A002 - NumPy's name
        density: bool | None = None,
        weights: ShardedArray | None = None,
        *,
        deterministic: bool = True,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Count the elements in each bin, as :func:`gpuprims.histogram`; ``bins`` is a number, or edges.

        Returns
        -------
        counts, edges : ndarray
        """
        return counted(self, x, bins, range, density, weights, deterministic)

    def bincount(
        self, x: ShardedArray, weights: ShardedArray | None = None, minlength: int = 0, *, deterministic: bool = True
    ) -> np.ndarray:
        """Count how often each number occurs, as :func:`gpuprims.bincount`."""
        return numbers_counted(self, x, weights, minlength, deterministic)

    def compact(self, x: ShardedArray, mask: Any) -> ShardedArray:
        """Return the elements that a mask keeps, as :func:`gpuprims.compact`; each stays on its device.

        Parameters
        ----------
        x : ShardedArray
        mask : ShardedArray of bool, callable or str
        """
        found: ShardedArray = compacted(self, x, mask)
        return found

    def sort(self, x: ShardedArray, axis: int | None = -1, *, descending: bool = False) -> ShardedArray:
        """Return a sorted copy, cut where ``x`` is; the order is that of :func:`gpuprims.sort`.

        Devices exchange elements if the axis is the first one, of an array of real numbers with one axis, or None.
        """
        return sorted_shards(self, x, axis, descending)

    def top_k(self, x: ShardedArray, k: int, *, axis: int | None = None, largest: bool = True) -> tuple[Any, Any]:
        """Return the ``k`` largest or smallest elements, sorted, and their indices, as :func:`gpuprims.top_k`.

        Returns
        -------
        values, indices : ndarray or ShardedArray
            On the host if ``axis`` is the first axis or None.
        """
        return best_of_shards(self, x, k, axis, largest)

    def all_reduce(self, x: ShardedArray, op: str | Op | Callable[..., Any] = "sum") -> ShardedArray:
        """Fold the shards, which have one shape, element by element, and leave the result on every device.

        Parameters
        ----------
        x : ShardedArray
            Such as a gradient of each device's samples.
        op : str, Op or callable, default "sum"
            "sum", "prod", "min", "max" or another operator of elements. Results have the dtype of ``x``.

        Returns
        -------
        ShardedArray
            With the same bits in each shard.
        """
        return all_reduced(self, x, op)

    def stencil(
        self,
        x: ShardedArray,
        weights: Any,
        *,
        mode: Mode = "nearest",
        cval: Any = 0,
        channel_axis: int | None = None,
        iterations: int = 1,
        dtype: Any = None,
    ) -> ShardedArray:
        """Compute each element from its neighbours; the parameters are those of :func:`gpuprims.stencil`.

        Devices exchange the rows beside the cuts.
        """
        how: dict[str, Any] = {"mode": mode, "cval": cval, "channel_axis": channel_axis, "iterations": iterations}
        how["dtype"] = dtype
        reach = self._reach("stencil", x, weights, **how)
        apply = partial(_call, stencil_one, weights, how)
        return applied(self, x, reach, apply, wraps=mode == "wrap", label="DeviceGroup.stencil")

    def blur(
        self,
        image: ShardedArray,
        kind: Kind = "cross",
        *,
        size: int | tuple[int, int] | None = None,
        sigma: float | tuple[float, float] | None = None,
        mode: Mode = "nearest",
        cval: Any = 0,
        channel_axis: int | None = None,
        iterations: int = 1,
    ) -> ShardedArray:
        """Blur an image that is cut between rows; the parameters are those of :func:`gpuprims.blur`."""
        how: dict[str, Any] = {"size": size, "sigma": sigma, "mode": mode, "cval": cval}
        how |= {"channel_axis": channel_axis, "iterations": iterations}
        reach = self._reach("blur", image, kind, **how)
        apply = partial(_call, blur_one, kind, how)
        return applied(self, image, reach, apply, wraps=mode == "wrap", label="DeviceGroup.blur")

    def _reach(self, label: str, x: Any, *given: Any, **how: Any) -> int:
        """Return how many rows beside a cut the results need; 0 if :func:`applied` will refuse ``x``."""
        return reaches(label, x.ndim, x.dtype, *given, **how)[0] if isinstance(x, ShardedArray) else 0


def _call(function: Callable[..., Any], given: Any, how: dict[str, Any], x: Any, device: Device) -> Any:
    return function(x, given, device=device, **how)
