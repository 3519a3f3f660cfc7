"""The contenders of a case: gpuprims, its kernels by name, and the installed peers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

import gpuprims

from . import calls
from .cases import RATE, STEPS, Case, Work

# A peer's function for each work.
Ways = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Contender:
    """A function of a case's arrays. They lie on the device, or on the host if ``on_host``."""

    name: str
    run: Callable[..., Any]
    on_host: bool = False

    @property
    def ours(self) -> bool:
        return self.name.startswith("gpuprims")


@dataclass(frozen=True)
class Peer:
    """Another library: the module with its functions, and the devices that they run on."""

    name: str
    ways: str
    backend: str
    kind: str
    on_host: bool = False  # on arrays of the host, as all libraries of CPUs are

    def serves(self, device: gpuprims.Device) -> bool:
        return self.backend in ("", device.backend) and self.kind in ("", device.capabilities.kind)


PEERS = (
    Peer("NumPy", "host:numpy", "", "cpu", on_host=True),
    Peer("SciPy", "host:scipy", "", "cpu", on_host=True),
    Peer("numba", "host:numba", "", "cpu", on_host=True),
    Peer("scikit-learn", "host:sklearn", "", "cpu", on_host=True),
    Peer("PyTorch", "host:torch", "", "cpu", on_host=True),
    Peer("OpenCV", "host:opencv", "", "cpu", on_host=True),
    Peer("pyopencl", "opencl:pyopencl", "opencl", ""),
    Peer("scikit-learn on the host", "host:sklearn", "cuda", "gpu", on_host=True),
    Peer("CuPy", "cuda:cupy", "cuda", ""),
    Peer("PyTorch", "cuda:torch", "cuda", ""),
    Peer("cuda.compute", "cuda:compute", "cuda", ""),
    Peer("CUB", "cuda:cub", "cuda", ""),
)


@cache
def ways_of(peer: Peer, device: gpuprims.Device) -> Ways | str:
    """Return a peer's functions, or the reason why it is absent: not installed, or it does not load."""
    module, _, function = peer.ways.partition(":")
    try:
        ways: Ways = getattr(importlib.import_module(f".peers_{module}", __package__), function)(device)
    except ImportError as error:
        return f"{peer.name} is not measured: {error}"
    return ways


def peers_of(device: gpuprims.Device) -> tuple[dict[Peer, Ways], dict[str, str]]:
    """Return the peers of a device, and the reasons why others are absent."""
    found = {peer: ways_of(peer, device) for peer in PEERS if peer.serves(device)}
    there = {peer: ways for peer, ways in found.items() if not isinstance(ways, str)}
    return there, {peer.name: ways for peer, ways in found.items() if isinstance(ways, str)}


def contenders(device: gpuprims.Device, case: Case, *, peers: bool, variants: bool) -> list[Contender]:
    """Return the contenders of a case: first gpuprims, on arrays of the device and, on a CPU, on NumPy arrays."""
    work = case.work
    found = [Contender("gpuprims", work.call)]
    if work.on_host:
        found = [Contender("gpuprims", partial(work.call, device=device), on_host=True)]
    elif device.capabilities.kind == "cpu":
        found.append(Contender("gpuprims, NumPy array", partial(work.call, device=device), on_host=True))
    if work.primitive == "descent":
        found.append(Contender("gpuprims LogReg", partial(calls.descend_by_logreg, rate=RATE, steps=STEPS)))
    if variants and work.kernels:
        found += [
            Contender(f"gpuprims {name}", partial(work.call, variant=name)) for name in _able(device, work, case.size)
        ]
    if peers:
        for peer, ways in peers_of(device)[0].items():
            found += [
                Contender(peer.name + way.removeprefix(work.name), run, peer.on_host)
                for way, run in ways.items()
                if way == work.name or way.startswith(f"{work.name} by ")
            ]
    return found


def _able(device: gpuprims.Device, work: Work, size: int) -> list[str]:
    """Return the variants that can run a work on a device in less than some seconds."""
    shape = work.inputs.host(4096)[0].shape if work.primitive == "reduce" else (4096,)
    columns = getattr(work.inputs, "columns", 0)
    outputs = columns or (shape[-1] if len(shape) > 1 else 1)
    asked: dict[str, Any] = {"size": size if columns else size // outputs, "outputs": outputs, "op": work.op}
    # Barriers (scans by levels have many) and atomics are slow on a CPU.
    slow = device.capabilities.kind == "cpu" and size > 2**20
    bins = work.bins if isinstance(work.bins, int) else len(work.bins) - 1
    explained = gpuprims.explain(work.kernels, device, dtype=work.inputs.dtype, bins=bins, **asked)
    able = [
        variant.name
        for variant, reason in explained.refusals
        if reason is None and not (slow and variant.block > 1 and variant.primitive in ("scan", "histogram"))
    ]
    return list(dict.fromkeys(able))  # each name once: compact's kernels come before those of scan


def to_host(device: gpuprims.Device, result: Any) -> Any:
    """Return a result as NumPy arrays."""
    if isinstance(result, tuple):
        return tuple(to_host(device, one) for one in result)
    if isinstance(result, np.ndarray | np.generic | int | float):
        return np.asarray(result)
    return device.to_host(result)
