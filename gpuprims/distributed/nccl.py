"""NCCL among the GPUs of a group, by CuPy's binding."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from gpuprims.core.device import Device
from gpuprims.distributed.processes import Processes

_OPS = {"sum": "NCCL_SUM", "prod": "NCCL_PROD", "min": "NCCL_MIN", "max": "NCCL_MAX"}
_DTYPES = {
    "int8": "NCCL_INT8", "uint8": "NCCL_UINT8", "int32": "NCCL_INT32", "uint32": "NCCL_UINT32", "int64": "NCCL_INT64",
    "uint64": "NCCL_UINT64", "float16": "NCCL_FLOAT16", "float32": "NCCL_FLOAT32", "float64": "NCCL_FLOAT64",
}  # fmt: skip
# Communicators of several threads must not take turns within a call.
_TURN = threading.Lock()


def folds(op: str, dtype: np.dtype[Any]) -> bool:
    """Return True if NCCL is there and has an operator for elements of a dtype."""
    return op in _OPS and dtype.name in _DTYPES and _binding() is not None


def gpus_of(devices: Sequence[Device]) -> list[str] | None:
    """Return identifiers of GPUs that are unique on a host; None for other devices or without NCCL."""
    drivers: list[Any] = [device.driver for device in devices]
    if _binding() is None or not all(hasattr(driver, "reaches") for driver in drivers):
        return None
    return [driver.device.pci_bus_id for driver in drivers]


def joins(gpus: Sequence[list[str] | None]) -> bool:
    """Return True if NCCL joins the GPUs of all processes. It refuses one that two processes have."""
    every = [gpu for own in gpus for gpu in own or [""] * 2]
    return len(set(every)) == len(every)


def all_reduce(
    devices: Sequence[Device],
    arrays: Sequence[Any],
    results: Sequence[Any],
    op: str,
    processes: Processes | None = None,
) -> None:
    """Fold contiguous arrays, one on each GPU, to results on all of them, in the current streams.

    The GPUs of other processes take part, if there are any.
    """
    nccl = _binding()
    named, kind = getattr(nccl, _OPS[op]), getattr(nccl, _DTYPES[np.dtype(arrays[0].dtype).name])
    with _TURN:
        numbers = tuple(device.driver.index for device in devices)
        communicators = _communicators(numbers) if processes is None else _among(processes, devices, numbers)
        nccl.groupStart()
        try:
            for device, one, array, result in zip(devices, communicators, arrays, results, strict=True):
                driver: Any = device.driver
                with driver.device:
                    one.allReduce(array.data.ptr, result.data.ptr, array.size, kind, named, driver.stream_handle())
        finally:
            nccl.groupEnd()


def exchange(
    processes: Processes,
    devices: Sequence[Device],
    sent: Sequence[dict[int, Any]],
    received: Sequence[dict[int, Any]],
) -> None:
    """Send contiguous arrays of each GPU to others, and fill those that come from others, in the current streams.

    Arrays are by the number of the other GPU among those of all processes.
    """
    nccl = _binding()
    with _TURN:
        communicators = _among(processes, devices, tuple(device.driver.index for device in devices))
        nccl.groupStart()
        try:
            for device, one, outgoing, incoming in zip(devices, communicators, sent, received, strict=True):
                driver: Any = device.driver
                with driver.device:
                    stream = driver.stream_handle()
                    for peer, array in outgoing.items():
                        one.send(array.data.ptr, array.nbytes, nccl.NCCL_UINT8, peer, stream)
                    for peer, array in incoming.items():
                        one.recv(array.data.ptr, array.nbytes, nccl.NCCL_UINT8, peer, stream)
        finally:
            nccl.groupEnd()


@cache
def _binding() -> Any:
    """Return CuPy's module of NCCL; None if NCCL is not installed."""
    try:
        nccl: Any = importlib.import_module("cupy.cuda.nccl")
    except ImportError:
        return None
    return nccl if getattr(nccl, "available", False) else None


@cache
def _communicators(numbers: tuple[int, ...]) -> list[Any]:
    """Return a communicator of each GPU. They take up to a second to make, and stay."""
    found: list[Any] = _binding().NcclCommunicator.initAll(list(numbers))
    return found


def _among(processes: Processes, devices: Sequence[Device], numbers: tuple[int, ...]) -> list[Any]:
    """Return a communicator of each of these GPUs with those of other processes, who make theirs at the same time."""
    if numbers in processes.communicators:
        return processes.communicators[numbers]
    nccl, label = _binding(), "NCCL"
    identity = processes.share(label, lambda: nccl.get_unique_id() if processes.rank == 0 else None)[0]
    counts = processes.share(label, lambda: len(devices))
    first, found = sum(counts[: processes.rank]), list[Any]()
    nccl.groupStart()
    try:
        for k, device in enumerate(devices):
            driver: Any = device.driver
            with driver.device:
                found.append(nccl.NcclCommunicator(sum(counts), identity, first + k))
    finally:
        nccl.groupEnd()
    processes.communicators[numbers] = found
    return found
