"""ShardedArray: an array cut along its first axis, a part on each device of a group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import accumulate
from typing import Any

import numpy as np

from gpuprims.core.arrays import host_array, native_of
from gpuprims.core.device import Device, device_of
from gpuprims.distributed.devices import Devices
from gpuprims.errors import ArrayError, DeviceMismatchError, DtypeError, ShapeError, quoted


class ShardedArray:
    """An array in parts, one on each device of a group; :class:`DeviceGroup` makes and takes them.

    Attributes
    ----------
    group : DeviceGroup
    shards : tuple of arrays
        Ordinary arrays, one on each device, in order: CuPy's on CUDA GPUs, pyopencl's on OpenCL GPUs, NumPy's for
        devices that compute in the host's memory. ``torch.from_dlpack(x.shards[0])`` shares the memory.
    offsets : tuple of int
        The index along the first axis at which each shard begins, and the length of that axis.
    shape : tuple of int
    dtype : dtype

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> group = gpuprims.DeviceGroup(["reference", "reference"])
    >>> x = group.scatter(np.arange(5))
    >>> x.offsets, x.shards[1]
    ((0, 2, 5), array([2, 3, 4]))
    >>> x.gather()
    array([0, 1, 2, 3, 4])
    """

    def __init__(self, group: Devices, shards: Sequence[Any]) -> None:
        self.group, self.shards = group, tuple(shards)
        self.offsets = (0, *accumulate(int(shard.shape[0]) for shard in self.shards))
        self.dtype: np.dtype[Any] = np.dtype(self.shards[0].dtype)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""
        return (self.offsets[-1], *map(int, self.shards[0].shape[1:]))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all shards."""
        return sum(int(shard.nbytes) for shard in self.shards)

    def __len__(self) -> int:
        return self.offsets[-1]

    def __repr__(self) -> str:
        rows = [end - start for start, end in zip(self.offsets, self.offsets[1:], strict=False)]
        return f"<gpuprims.ShardedArray {self.dtype}{list(self.shape)} in shards of {rows} on {self.group!r}>"

    def gather(self) -> np.ndarray:
        """Wait for the work that fills the shards, and return the whole array on the host."""
        devices, shards = self.group.devices, self.shards
        return np.concatenate(self.group.each("ShardedArray.gather", lambda k: devices[k].to_host(shards[k])))


def split_rows(count: int, parts: int) -> list[int]:
    """Return where each of nearly equal parts of a number of rows begins, and where the last one ends."""
    return [count * k // parts for k in range(parts + 1)]


def scattered(group: Devices, x: Any, offsets: Sequence[int] | None = None) -> ShardedArray:
    """Copy parts of an array to the devices; those that compute in the host's memory get views of a host array."""
    label = "DeviceGroup.scatter"
    native = native_of(label, x)
    if not native.ndim:
        raise ShapeError(f"{label}: an array of one axis or more, to cut along the first; got shape ()")
    cuts = split_rows(native.shape[0], len(group)) if offsets is None else offsets
    if cuts[-1] != native.shape[0]:
        raise ShapeError(f"{label}: as many rows as like= has, {cuts[-1]}; got {native.shape[0]}")
    home = device_of(native)

    def place(k: int) -> Any:
        part = native[cuts[k] : cuts[k + 1]]
        return copied(part, home, group.devices[k]) if home is not None else _placed(part, group.devices[k])

    return ShardedArray(group, group.each(label, place))


def taken(group: Devices, shards: Any) -> ShardedArray:
    """Use arrays in place, one on each device of a group."""
    label = "DeviceGroup.from_shards"
    given = list(shards) if isinstance(shards, list | tuple) else []
    if len(given) != len(group):
        raise ArrayError(f"{label}: a list of {len(group)} array(s), one for each device; got {quoted(shards)}")
    natives = [native_of(label, shard) for shard in given]
    for k, (native, device) in enumerate(zip(natives, group.devices, strict=True)):
        home = device_of(native)
        if home is not None and home is not device:
            raise DeviceMismatchError(f"{label}: shard {k} on {device!r}; got one on {home!r}")
        if not native.ndim or native.shape[1:] != natives[0].shape[1:]:
            shapes = [tuple(one.shape) for one in natives]
            raise ShapeError(f"{label}: shards whose shapes differ along the first axis only; got {shapes}")
        if native.dtype != natives[0].dtype:
            got = sorted({str(one.dtype) for one in natives})
            raise DtypeError(f"{label}: shards of one dtype; got {' and '.join(got)}")
        if home is None:
            natives[k] = _placed(native, device)
    return ShardedArray(group, natives)


def _placed(part: np.ndarray, device: Device) -> Any:
    """Return a host array where a device computes."""
    host = host_array(part, device)
    return host if device.driver.shares_host_memory else device.asarray(host)


def copied(part: Any, home: Device, device: Device) -> Any:
    """Return rows of an array on ``home`` as an array on another device: from GPU to GPU where a driver can."""
    if home is device:
        return part
    from_peer = getattr(device.driver, "from_peer", None)
    if from_peer is not None and home.backend == device.backend and not isinstance(part, np.ndarray):
        return from_peer(part)
    return _placed(home.to_host(part), device)


def beside(shard: Any, array: np.ndarray, device: Device) -> Any:
    """Return a host array where a shard lies, for a call on both; where a driver can, without a wait for its work."""
    if isinstance(shard, np.ndarray):
        return array
    begin = getattr(device.driver, "begin_asarray", None)
    return device.asarray(array) if begin is None else begin(array)()


def empty_beside(shard: Any, shape: tuple[int, ...], dtype: np.dtype[Any], device: Device) -> Any:
    """Allocate an array where a shard lies."""
    return np.empty(shape, dtype) if isinstance(shard, np.ndarray) else device.driver.empty(shape, dtype)


def begin_to_host(device: Device, found: Any) -> Callable[[], tuple[np.ndarray, ...]]:
    """Start to copy a result, or several, to the host where the driver can; the function returned waits for them.

    Started for all devices, copies wait at the same time.
    """
    begin, every = getattr(device.driver, "begin_few", None), found if isinstance(found, tuple) else (found,)
    waits: list[Callable[[], np.ndarray]] = [
        partial(device.to_host, one) if begin is None or isinstance(one, np.ndarray | np.generic) else begin(one)
        for one in every
    ]

    def finished() -> tuple[np.ndarray, ...]:
        hosts = tuple([wait() for wait in waits])
        device.faults.check()
        return hosts

    return finished
