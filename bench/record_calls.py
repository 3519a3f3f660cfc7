"""The calls that ``bench.record`` records: some 300, of every public function, with fixed inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import gpuprims
from gpuprims.models import generated_mail

from .record_kit import AFFINE, DTYPES, REALS, XOR, Call, Kit, array
from .record_models import by_name, logistics, models, plans


def calls(device: gpuprims.Device, *, quick: bool = False) -> Iterator[Call]:
    """Yield the calls one after the other, so that only the arrays of the current one are in memory.

    Parameters
    ----------
    device : gpuprims.Device
    quick : bool, default False
        Use small inputs.

    Yields
    ------
    Call
    """
    kit = Kit(device, quick=quick)
    for group in (
        _maps,
        _reduces,
        _scans,
        _compacts,
        _histograms,
        _stencils,
        _hashes,
        logistics,
        plans,
        by_name,
        models,
    ):
        yield from group(kit)
    if not quick:
        yield from _large(kit)


def _maps(kit: Kit) -> Iterator[Call]:
    line, named, x, y = gpuprims.map, "2*x + 1", array("float32", kit.n), array("float32", kit.n, 2)[:, 1]
    for dtype in DTYPES:
        yield kit.call(f"map x + x {dtype}", line, "x + x", array(dtype, kit.n))
    for dtype in ("float32", "float64"):
        args = "(sin(x), exp(-x*x), where(x > 0.5, sqrt(abs(x)), -x), x**3)", array(dtype, kit.n)
        yield kit.call(f"map functions {dtype}", line, *args)
    for size in kit.sizes:
        yield from kit.both(f"map size {size}", partial(line, named), array("float32", size))
    integers = array("int32", kit.n), array("int32", kit.n, 2)[:, 0]
    yield kit.call("map integers", line, "(x // y, x % y, x << 2, x ^ y, abs(x), ~x)", *integers)
    yield kit.call("map complex", line, "(x * x - 1j, abs(x), conj(x), real(x))", array("complex64", kit.n))
    yield kit.call("map lambda of two", line, lambda a, b: np.hypot(a, b), x, y)
    yield kit.call("map names", line, "a - b", b=x, a=y)
    yield kit.call("map broadcast", line, "x + y", array("float32", kit.side, 1), array("float32", 7))
    yield kit.call("map stride 0", line, named, np.broadcast_to(array("float32", 7), (kit.side, 7)))
    yield kit.call("map pixels", line, lambda p: (p[2], p[1], p[0], p[3]), array("uint8", kit.n, 4), vector_axis=-1)
    yield kit.call("map out, host", line, named, x, out=np.empty(kit.n, np.float32))
    out = kit.device.asarray(np.empty(kit.n, np.float32))
    yield kit.call("map out, device", line, named, kit.device.asarray(x), out=out)
    yield from _layouts(kit, "map", partial(line, named))


def _layouts(kit: Kit, name: str, function: Callable[..., Any]) -> Iterator[Call]:
    """Yield calls on views of a matrix."""
    matrix = array("float32", kit.side, kit.side - 6)
    views: dict[str, Callable[[Any], Any]] = {
        "transposed": lambda x: x.T,
        "strided": lambda x: x[::2, 1::3],
    }
    for view, look in views.items():
        yield kit.call(f"{name} {view}, host", function, look(matrix))
        yield kit.call(f"{name} {view}, device", function, look(kit.device.asarray(matrix)))
    yield kit.call(f"{name} reversed", function, matrix[::-1, ::-1])


def _reduces(kit: Kit) -> Iterator[Call]:
    fold, x = gpuprims.reduce, array("float32", kit.n)
    deep = array("float32", 13, kit.side, 29)
    for dtype in DTYPES:
        yield kit.call(f"reduce sum {dtype}", fold, array(dtype, kit.n))
    for op in ("prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "var", "std", "norm", "count_nonzero"):
        for dtype in ("float32", "int32"):
            values = array(dtype, kit.n)
            near_one = (1 + values / 1024).astype(dtype) if op == "prod" else values
            yield kit.call(f"reduce {op} {dtype}", fold, near_one, op=op)
    for size in kit.sizes:
        yield from kit.both(f"reduce size {size}", fold, array("float32", size))
    for axis in (0, 1, 2, -1, (0, 2), (1, 2), ()):
        yield kit.call(f"reduce axis {axis}", fold, deep, axis=axis)
    yield kit.call("reduce argmax axis 1, device", fold, kit.device.asarray(deep), op="argmax", axis=1)
    yield kit.call("reduce keepdims", fold, deep, axis=1, keepdims=True)
    yield kit.call("reduce dot product", fold, x, x, map="x*y")
    yield kit.call("reduce dtype float64", fold, x, dtype="float64")
    yield kit.call("reduce ddof", fold, x, op="var", ddof=1)
    yield kit.call("reduce compensated", fold, x, compensated=True)
    yield kit.call("reduce NaN", fold, np.where(x > 3, np.float32(np.nan), x), op="max")
    yield kit.call("reduce own operator", fold, array("int64", kit.n), op=XOR)
    yield kit.call("reduce affine", fold, 1 + x / 1024, x, op=AFFINE)
    yield kit.call("reduce out", fold, deep, axis=1, out=np.empty((13, 29), np.float32))
    for op in ("sum", "mean", "min"):  # min refuses empty segments
        yield kit.call(f"reduce segments {op}", fold, x, op=op, segments=_offsets(kit.n))
    yield kit.call("reduce segments argmax", fold, x, op="argmax", segments=np.unique(_offsets(kit.n)))
    there = kit.device.asarray(x), kit.device.asarray(_offsets(kit.n))
    yield kit.call("reduce segments, device", fold, there[0], segments=there[1])
    yield from _layouts(kit, "reduce", partial(fold, axis=0))


def _offsets(size: int) -> np.ndarray:
    """Return offsets of about 40 segments, two of them empty."""
    inner = np.sort(np.random.default_rng(size).integers(0, size, 37))
    return np.concatenate([[0, 0], inner, [size, size]])


def _scans(kit: Kit) -> Iterator[Call]:
    scan, x = gpuprims.scan, array("float32", kit.n)
    deep = array("float32", 13, kit.side, 29)
    for dtype in DTYPES:
        yield kit.call(f"scan sum {dtype}", scan, array(dtype, kit.n))
    for op in ("min", "max", "argmax", "mean", "any"):
        yield kit.call(f"scan {op}", scan, x, op=op)
    for size in kit.sizes:
        yield from kit.both(f"scan size {size}", scan, array("float32", size))
    for axis in (0, 1, 2):
        yield kit.call(f"cumsum axis {axis}", gpuprims.cumsum, deep, axis)
    yield kit.call("cumsum dtype float64", gpuprims.cumsum, x, dtype="float64")
    yield kit.call("cumprod", gpuprims.cumprod, (1 + x / 1024).astype(np.float32))
    yield kit.call("scan exclusive", scan, x, inclusive=False)
    yield kit.call("scan exclusive max of axis 1", scan, deep, op="max", inclusive=False, axis=1)
    yield kit.call("scan map", scan, x, map="x > 0")
    yield kit.call("scan affine", scan, 1 + x / 1024, x, op=AFFINE)
    yield kit.call("scan own operator", scan, array("int32", kit.n), op=XOR)
    yield kit.call("scan out", scan, x, out=np.empty(kit.n, np.float32))
    yield kit.call("scan segments", scan, x, segments=_offsets(kit.n))
    yield kit.call("scan segments exclusive", scan, x, op="max", inclusive=False, segments=_offsets(kit.n))
    yield from _layouts(kit, "scan", partial(scan, axis=1))


def _compacts(kit: Kit) -> Iterator[Call]:
    keep, x = gpuprims.compact, array("float32", kit.n)
    for size in kit.sizes:
        yield from kit.both(f"compact size {size}", partial(_kept, "x > 0"), array("float32", size))
    for dtype in ("int8", "float64", "complex64", "bool"):
        yield kit.call(f"compact by a mask {dtype}", keep, array(dtype, kit.n), array("bool", kit.n))
    yield kit.call("compact keeps nothing", keep, x, "x > 1000")
    yield kit.call("compact strided", keep, array("float32", kit.side, 8)[:, ::3], lambda v: v < 0.5)


def _kept(mask: str, x: Any, **keywords: Any) -> Any:
    return gpuprims.compact(x, mask, **keywords)


def _histograms(kit: Kit) -> Iterator[Call]:
    count, x = gpuprims.histogram, array("float32", kit.n)
    matrix, small = array("float32", 17, kit.side), array("uint8", kit.n)
    for dtype in REALS:
        yield kit.call(f"histogram {dtype}", count, array(dtype, kit.n), 16)
    for size in kit.sizes:
        yield from kit.both(f"histogram size {size}", count, array("float32", size), bins=10, range=(-3, 3))
    for bins in (1, 256, 5_000, 100_000):
        yield kit.call(f"histogram {bins} bins", count, x, bins, (-4, 4))
    yield kit.call("histogram edges", count, x, np.array([-3, -1, -0.5, 0, 2, 2.5], "float32"))
    yield kit.call("histogram density", count, x, 16, density=True)
    for weights in ("float32", "float64", "int32"):
        yield kit.call(f"histogram weights {weights}", count, x, 16, (-3, 3), weights=array(weights, kit.n))
    loose = partial(count, deterministic=False)
    yield kit.call("histogram weights in any order", loose, x, 16, (-3, 3), weights=x, exact=False)
    yield kit.call("histogram axis", count, matrix, 8, (-3, 3), axis=1)
    yield kit.call("histogram transposed", count, matrix.T, 8, (-3, 3))
    for dtype in ("uint8", "int32", "int64"):
        yield from kit.both(f"bincount {dtype}", gpuprims.bincount, np.abs(array(dtype, kit.n)))
    yield kit.call("bincount weights", gpuprims.bincount, small, weights=x)
    yield kit.call("bincount minlength", gpuprims.bincount, small, minlength=20_000)
    yield kit.call("bincount axis", gpuprims.bincount, small[: kit.side * 3].reshape(3, -1), axis=1)


def _stencils(kit: Kit) -> Iterator[Call]:
    near, blur = gpuprims.stencil, gpuprims.blur
    row, table = [0.25, 0.5, 0.25], np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0]], "float32")
    image, pixels = array("float32", kit.side, kit.side - 6), array("uint8", kit.side, kit.side - 6, 3)
    for mode in ("nearest", "reflect", "mirror", "wrap", "constant"):
        yield kit.call(f"stencil {mode}", near, image, table, mode=mode, cval=0.5)
    for size in kit.sizes:
        yield from kit.both(f"stencil size {size}", partial(_around, row), array("float32", size))
    for dtype in REALS:
        yield kit.call(f"stencil {dtype}", near, array(dtype, kit.side, kit.side), [[1, 2, 1], [2, 4, 2], [1, 2, 1]])
    yield kit.call("stencil 3-d", near, array("float32", 9, 21, kit.side), np.ones((3, 3, 5)))
    yield kit.call("stencil wide", near, image, np.linspace(-1, 1, 31 * 9).reshape(31, 9))
    yield kit.call("stencil function", near, image, lambda n: np.maximum(n[-1, 0], n[1, 1]) - n[0, 0])
    yield kit.call("stencil channels", near, pixels, table, channel_axis=-1, dtype="int32")
    yield kit.call("stencil iterations", near, image, table / 8, iterations=3)
    yield kit.call("stencil out", near, image, table, out=np.empty(image.shape, np.float32))
    yield from _layouts(kit, "stencil", partial(near, weights=table))
    for dtype in ("uint8", "int16", "uint16", "int32", "int64", "float32", "float64"):
        for kind in ("cross", "box", "gaussian"):
            yield kit.call(f"blur {kind} {dtype}", blur, array(dtype, kit.side, kit.side), kind)
    yield kit.call("blur box 9 x 31", blur, image, "box", size=(9, 31), mode="mirror")
    yield kit.call("blur gaussian 6", blur, image, "gaussian", sigma=6, mode="wrap")
    yield kit.call("blur channels", blur, pixels, "gaussian", channel_axis=-1, iterations=2)
    yield kit.call("blur, device", blur, kit.device.asarray(image))


def _around(weights: Any, x: Any, **keywords: Any) -> Any:
    return gpuprims.stencil(x, weights, **keywords)


def _hashes(kit: Kit) -> Iterator[Call]:
    texts, ids = list(generated_mail(50).texts), array("int32", kit.n)
    yield kit.call("hash_counts texts", gpuprims.hash_counts, texts, 256)
    yield kit.call("hash_counts segments, host", gpuprims.hash_counts, ids, 64, segments=_offsets(kit.n))
    there = kit.device.asarray(ids)
    yield kit.call("hash_counts segments, device", gpuprims.hash_counts, there, 64, segments=_offsets(kit.n))


def _large(kit: Kit) -> Iterator[Call]:
    """Yield calls whose time is that of their kernels."""
    x = kit.device.asarray(array("float32", 2**24))
    small = kit.device.asarray(array("uint8", 2**24))
    yield kit.call("map of 2^24", gpuprims.map, "2*x + 1", x)
    yield kit.call("reduce of 2^24", gpuprims.reduce, x)
    yield kit.call("scan of 2^24", gpuprims.scan, x)
    yield kit.call("compact of 2^24", gpuprims.compact, x, "x > 0.5")
    yield kit.call("bincount of 2^24", gpuprims.bincount, small, minlength=256)
    yield kit.call("blur of 2^24", gpuprims.blur, x.reshape(4096, 4096), "gaussian")
