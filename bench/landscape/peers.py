"""The same calls by other libraries, as a user of these would write them.

NumPy and SciPy run on CPUs, CuPy and torch on CUDA GPUs. A function that a library does not have, or refuses, has no
time; the report says why.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import gpuprims

from . import further, ordered_peers
from .calls import FURTHER, ORDERED, Call, bins_of, stencil_weights
from .errors import NoFunctionError
from .functions import function_of
from .oracles import stencil_way

# A peer's function of a call's arrays.
Way = Callable[[Sequence[Any]], Any]


class Peer(NamedTuple):
    """A library: its function for a call, and what turns arrays into its own, and its results back."""

    way: Callable[[Call], Way]
    taken: Callable[[Any], Any]
    given: Callable[[Any], Any]


def peers_of(device: gpuprims.Device) -> tuple[dict[str, Peer], dict[str, str]]:
    """Return the peers of a device, and the reasons why others are absent."""
    found: dict[str, Peer] = {}
    absent = {}
    for name, kind, load in _PEERS:
        if kind == (device.backend if kind == "cuda" else device.capabilities.kind):
            try:
                found[name] = load()
            except ImportError as error:
                absent[name] = f"{name} is not measured: {error}"
    return found, absent


def on_host(name: str) -> bool:
    """Return True if a peer computes on the host."""
    return name == "NumPy, SciPy"


def _numpy() -> Peer:
    from scipy import ndimage

    return Peer(lambda call: _array_way(call, np, ndimage), _same, _same)


def _cupy() -> Peer:
    import cupy
    from cupyx.scipy import ndimage

    return Peer(lambda call: _array_way(call, cupy, ndimage), _same, _same)


def _same(array: Any) -> Any:
    return array


def _torch() -> Peer:
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise ImportError("this torch has no CUDA")
    import cupy

    torch.backends.cudnn.allow_tf32 = False  # other peers compute in float32

    def taken(array: Any) -> Any:
        if min(array.strides, default=0) < 0:  # torch 2.11 ends the process
            raise NoFunctionError("no array with negative strides")
        return torch.from_dlpack(array)

    def given(result: Any) -> Any:
        if isinstance(result, tuple):
            return tuple(map(given, result))
        return cupy.from_dlpack(result.contiguous())

    return Peer(lambda call: _torch_way(call, torch), taken, given)


_PEERS: Sequence[tuple[str, str, Callable[[], Peer]]] = (
    ("NumPy, SciPy", "cpu", _numpy),
    ("CuPy", "cuda", _cupy),
    ("torch", "cuda", _torch),
)


def _array_way(call: Call, xp: Any, ndimage: Any) -> Way:
    """Return a call by NumPy or CuPy, and their ``ndimage``."""
    if call.primitive in ORDERED:
        return ordered_peers.array_way(call, xp)
    if call.primitive in FURTHER:
        return further.array_way(call, xp, ndimage)
    op, axis = call["op"], call["axis"]
    match call.primitive:
        case "map":
            function = function_of(call["fn"], xp)
            return lambda arrays: function(*arrays)
        case "reduce":
            return _array_fold(call, xp)
        case "scan":
            return _array_scan(call, xp)
        case "segments" if call.function == "reduce":
            ufunc = getattr(xp, {"sum": "add", "max": "maximum", "xor": "bitwise_xor"}[op])
            return lambda arrays: ufunc.reduceat(arrays[0], arrays[1][:-1])
        case "segments" if op == "sum" and xp is np:  # CuPy repeats by a list of lengths on the host
            return lambda arrays: _sums_in_segments(*arrays)
        case "compact" if call["mask"] is None:
            return lambda arrays: arrays[0][arrays[1]]
        case "compact":
            keeps = function_of(call["mask"], xp)
            return lambda arrays: arrays[0][keeps(arrays[0])]
        case "histogram" if axis is None:
            bins = bins_of(call) if call["edges"] is None else xp.asarray(bins_of(call))
            given = None if call["edges"] else call["range"]
            return lambda arrays: xp.histogram(arrays[0], bins, given, weights=_second(arrays))[0]
        case "bincount":
            return lambda arrays: xp.bincount(arrays[0], _second(arrays), call["minlength"])
        case "stencil" | "blur":
            function = stencil_way(call, ndimage, xp.asarray)[1]
            return lambda arrays: function(arrays[0])
    raise NoFunctionError(f"no function for {call.function} {op or ''}")


def _second(arrays: Sequence[Any]) -> Any:
    return arrays[1] if len(arrays) > 1 else None


def _array_fold(call: Call, xp: Any) -> Way:
    op, axis = call["op"], call["axis"]

    def norm(arrays: Sequence[Any]) -> Any:
        x = arrays[0] if arrays[0].dtype.kind == "f" else arrays[0].astype(np.float64)  # squares of integers overflow
        return xp.sqrt(xp.sum(x * x, axis=axis))

    others: Mapping[str, Way] = {
        "norm": norm,
        "hypot": norm,
        "xor": lambda arrays: xp.bitwise_xor.reduce(arrays[0], axis=axis),
    }
    if op in ("affine", "heaviest"):
        raise NoFunctionError(f"no function for reduce {op}")
    how = {"dtype": call["dtype"]} if call["dtype"] else {}
    return others.get(op) or (lambda arrays: getattr(xp, op)(arrays[0], axis=axis, **how))


def _array_scan(call: Call, xp: Any) -> Way:
    op, axis, inclusive = call["op"], call["axis"], call["inclusive"]

    def flat(x: Any) -> tuple[Any, int]:
        return (x.ravel(), 0) if axis is None else (x, axis)

    if op in ("sum", "prod"):
        scan = {"sum": xp.cumsum, "prod": xp.cumprod}[op]
        if inclusive:
            return lambda arrays: scan(arrays[0], axis=axis, dtype=call["dtype"])
        return lambda arrays: (
            scan(arrays[0], axis=axis, dtype=call["dtype"]) - arrays[0].reshape(-1 if axis is None else arrays[0].shape)
        )
    if op in ("max", "min", "xor") and inclusive:
        ufunc = getattr(xp, {"max": "maximum", "min": "minimum", "xor": "bitwise_xor"}[op])

        def run(arrays: Sequence[Any]) -> Any:
            x, along = flat(arrays[0])
            return ufunc.accumulate(x, axis=along)

        return run
    raise NoFunctionError(f"no function for scan {op}")


def _sums_in_segments(x: Any, offsets: Any) -> Any:
    sums = np.cumsum(x)
    before = np.concatenate([sums[:1] * 0, sums[offsets[1:-1] - 1]])
    return sums - np.repeat(before, np.diff(offsets))


def _torch_way(call: Call, torch: Any) -> Way:
    if call.primitive in ORDERED:
        return ordered_peers.torch_way(call, torch)
    if call.primitive in FURTHER:
        return further.torch_way(call, torch)
    op, axis = call["op"], call["axis"]
    match call.primitive:
        case "map":
            function = function_of(call["fn"], torch)
            return lambda arrays: function(*arrays)
        case "reduce" if op not in ("affine", "heaviest", "xor"):
            return _torch_fold(call, torch)
        case "scan" if op in ("sum", "prod", "max", "min") and call["inclusive"]:
            return _torch_scan(call, torch)
        case "segments" if call.function == "reduce" and op in ("sum", "max"):
            return lambda arrays: torch.segment_reduce(arrays[0], op, offsets=arrays[1].to(torch.int64))
        case "compact" if call["mask"] is None:
            return lambda arrays: torch.masked_select(*arrays)
        case "compact":
            keeps = function_of(call["mask"], torch)
            return lambda arrays: torch.masked_select(arrays[0], keeps(arrays[0]))
        case "histogram" if axis is None and len(call.operands) == 1 and call["range"] and not call["edges"]:
            low, high = call["range"]
            return lambda arrays: torch.histc(arrays[0], call["bins"], low, high).to(torch.int64)
        case "bincount":
            return lambda arrays: torch.bincount(arrays[0], _second(arrays), call["minlength"])
        case "stencil" if call["weights"]:
            return _torch_convolution(call, [stencil_weights(call)], torch)
        case "blur" if call["kind"] == "box":
            line = np.full(call["size"], 1 / call["size"], np.float32)
            return _torch_convolution(call, [line[:, None], line[None]], torch)
    raise NoFunctionError(f"no function for {call.function} {op or ''}")


def _torch_fold(call: Call, torch: Any) -> Way:
    op, axis = call["op"], call["axis"]
    how = {"dtype": getattr(torch, call["dtype"])} if call["dtype"] else {}

    def run(arrays: Sequence[Any]) -> Any:
        (x,) = arrays
        axes = tuple(range(x.ndim)) if axis is None else axis
        if op in ("norm", "hypot"):
            return torch.linalg.vector_norm(x, dim=axes)
        if op in ("var", "std"):
            return getattr(torch, op)(x, dim=axes, correction=0)
        if op in ("prod", "argmax", "argmin"):  # these take one axis
            return getattr(torch, op)(x) if axis is None else getattr(torch, op)(x, dim=_one(axes))
        return getattr(torch, {"max": "amax", "min": "amin"}.get(op, op))(x, dim=axes, **how)

    return run


def _one(axes: Any) -> int:
    (axis,) = axes if isinstance(axes, tuple) else (axes,)
    return int(axis)


def _torch_scan(call: Call, torch: Any) -> Way:
    op, axis = call["op"], call["axis"]
    how = {"dtype": getattr(torch, call["dtype"])} if call["dtype"] else {}
    function = getattr(torch, f"cum{op}")

    def run(arrays: Sequence[Any]) -> Any:
        x = arrays[0].reshape(-1) if axis is None else arrays[0]
        found = function(x, dim=axis or 0, **how)
        return found.values if op in ("max", "min") else found

    return run


def _torch_convolution(call: Call, weights: Sequence[np.ndarray], torch: Any) -> Way:
    """Return a convolution of images without channels, with the borders that torch has."""
    x, rank = call.operands[0], weights[0].ndim
    modes = {"nearest": "replicate", "mirror": "reflect", "wrap": "circular", "constant": "constant"}
    if call["mode"] not in modes or np.dtype(x.dtype).kind != "f" or call["channel_axis"] is not None:
        raise NoFunctionError(f"no function for {call.function} in mode {call['mode']} of {x.dtype}")
    on_gpu = [torch.from_numpy(one).cuda().to(getattr(torch, x.dtype))[None, None] for one in weights]
    convolve = {2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}[rank]

    def run(arrays: Sequence[Any]) -> Any:
        image = arrays[0].reshape(math.prod(x.shape[:-rank]), 1, *x.shape[-rank:])
        for one in on_gpu:
            beside = [length // 2 for length in reversed(one.shape[2:]) for _ in range(2)]
            image = convolve(torch.nn.functional.pad(image, beside, mode=modes[call["mode"]]), one)
        return image.reshape(x.shape)

    return run
