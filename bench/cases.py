"""What is measured, the same for every backend: the work, the sizes, and who does it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import gpuprims
from gpuprims.errors import BackendUnavailableError, UnknownDeviceError


@dataclass(frozen=True)
class Work:
    """One call on an array: its primitive, keywords and the bytes it must move for each element.

    A reduce or scan along an axis sees the array as rows of ``columns`` elements, or as a square of about as many. The
    elements are from 0 to 1, integers to 255; with ``steps`` they are -1 and 1, whose sums are exact in every order.
    ``beside`` makes of them what else the call takes, a mask or the offsets of segments; a histogram has ``bins``, or
    edges, and ``spread`` moves the elements.
    """

    name: str
    primitive: str
    bytes_per_element: float
    numpy: Callable[..., Any]
    op: str = ""
    axis: int | None = None
    columns: int | None = None
    dtype: str = "float32"
    steps: bool = False
    inclusive: bool = True
    beside: Callable[[np.ndarray], np.ndarray] | None = None
    bins: Any = None
    spread: Callable[[np.ndarray], np.ndarray] | None = None
    how: tuple[tuple[str, Any], ...] = ()

    def shape(self, size: int) -> tuple[int, ...]:
        """Return the shape in which so many elements are seen."""
        if self.primitive == "blur":
            rows = 1 << (size.bit_length() - 1) // 2
            return (rows, size // rows // 4, 4) if self.dtype == "uint8" else (rows, size // rows)
        if self.axis is None:
            return (size,)
        columns = self.columns or 1 << (size.bit_length() - 1) // 2
        return (size // columns, columns)

    @property
    def kernels(self) -> str:
        """Return the primitive whose variants do it."""
        names = {"segments": "scan", "bincount": "histogram", "blur": "stencil"}
        return names.get(self.primitive, self.primitive)

    @property
    def beside_on_host(self) -> bool:
        """Whether what the call takes beside the array is the host's: offsets are, which the library checks there."""
        return self.primitive in ("scan", "segments")

    def on_device(self, x: Any, *beside: Any, **keywords: Any) -> Any:
        """Let gpuprims do it."""
        if self.primitive == "map":
            return gpuprims.map("2*x + 1", x, **keywords)
        if self.primitive == "compact":
            return gpuprims.compact(x, *(beside or (KEPT,)), **keywords)
        if self.primitive == "histogram":
            return gpuprims.histogram(x, self.bins, (0, 1), **keywords)[0]
        if self.primitive == "bincount":
            return gpuprims.bincount(x, **keywords)
        if self.primitive == "blur":
            return gpuprims.blur(x, channel_axis=-1 if x.ndim == 3 else None, **dict(self.how), **keywords)
        if self.primitive == "segments":
            return gpuprims.reduce(x, segments=beside[0], **keywords)
        if self.primitive == "scan":
            segments = beside[0] if beside else None
            how = {"op": self.op, "axis": self.axis, "dtype": self.dtype, "inclusive": self.inclusive}
            return gpuprims.scan(x, segments=segments, **how, **keywords)
        return gpuprims.reduce(x, op=self.op, axis=self.axis, **keywords)


# Which elements from 0 to 1 compact keeps: about half of them.
KEPT = "x > 0.5"


def every_32(x: np.ndarray) -> np.ndarray:
    """Return offsets of segments of some 32 elements, none of them empty."""
    offsets = np.arange(0, x.size + 1, 32)
    offsets[1:-1] += np.random.default_rng(20261121).integers(-15, 16, offsets.size - 2)
    return offsets


def _before(x: np.ndarray) -> np.ndarray:
    sums = np.cumsum(x, dtype=x.dtype)
    return np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])


def _within_segments(x: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    sums = np.cumsum(x, dtype=x.dtype)
    lengths = np.diff(offsets)
    return sums - np.repeat(np.concatenate([[0], sums[offsets[1:-1] - 1]]).astype(x.dtype), lengths)


def _counts(bins: Any, x: np.ndarray) -> np.ndarray:
    return np.histogram(x, bins, (0, 1))[0]


def histogram_of(name: str, bins: Any, spread: Callable[[np.ndarray], np.ndarray] | None = None) -> Work:
    """Return the work of a histogram of elements from 0 to 1, spread evenly unless ``spread`` moves them."""
    return Work(name, "histogram", 4, partial(_counts, bins), bins=bins, spread=spread)


def skewed(x: np.ndarray) -> np.ndarray:
    """Return elements of which half lie below 1/256."""
    return x**8


def all_alike(x: np.ndarray) -> np.ndarray:
    """Return elements that meet in one bin."""
    return np.full_like(x, 0.5)


CROSS = np.float32([[0, 0.2, 0], [0.2, 0.2, 0.2], [0, 0.2, 0]])


def blur_of(name: str, scipys: Callable[..., Any], **how: Any) -> Work:
    """Return the work of a blur, and SciPy's way of it."""
    return Work(name, "blur", 8 * int(how.get("iterations", 1)), scipys, how=tuple(how.items()))


def _cross_twice(x: np.ndarray) -> np.ndarray:
    return np.asarray(ndimage.correlate(ndimage.correlate(x, CROSS, mode="nearest"), CROSS, mode="nearest"))


def _cross_of_pixels(x: np.ndarray) -> np.ndarray:
    return ndimage.correlate(x, CROSS[..., np.newaxis], mode="nearest")


EDGES = np.sort(np.random.default_rng(20261121).random(257))

WORKS = (
    Work("map 2*x+1", "map", 8, lambda x: 2 * x + 1),
    Work("reduce sum", "reduce", 4, np.sum, "sum"),
    Work("reduce max", "reduce", 4, np.max, "max"),
    Work("reduce argmax", "reduce", 4, np.argmax, "argmax"),
    Work("reduce columns", "reduce", 4, lambda x: x.sum(axis=0), "sum", axis=0),
    Work("reduce rows of 16", "reduce", 4, lambda x: x.sum(axis=1), "sum", axis=1, columns=16),
    Work("reduce rows of 256", "reduce", 4, lambda x: x.sum(axis=1), "sum", axis=1, columns=256),
    Work("scan sum", "scan", 8, np.cumsum, "sum", steps=True),
    Work("scan sum, exclusive", "scan", 8, _before, "sum", steps=True, inclusive=False),
    Work("scan max", "scan", 8, np.maximum.accumulate, "max"),
    Work("scan sum of float64", "scan", 16, np.cumsum, "sum", steps=True, dtype="float64"),
    Work("scan sum of int32", "scan", 8, lambda x: np.cumsum(x, dtype=x.dtype), "sum", steps=True, dtype="int32"),
    Work("scan rows", "scan", 8, lambda x: np.cumsum(x, axis=1), "sum", axis=1, steps=True),
    Work("scan columns", "scan", 8, lambda x: np.cumsum(x, axis=0), "sum", axis=0, steps=True),
    Work("scan segments", "scan", 8, _within_segments, "sum", steps=True, beside=every_32),
    Work(
        "reduce segments", "segments", 4, lambda x, offsets: np.add.reduceat(x, offsets[:-1]), "sum", steps=True,
        beside=every_32,
    ),
    Work("compact by a mask", "compact", 7, lambda x, mask: x[mask], beside=lambda x: x > 0.5),
    Work("compact by a function", "compact", 6, lambda x: x[x > 0.5]),
    histogram_of("histogram 256", 256),
    histogram_of("histogram 256, skewed", 256, skewed),
    histogram_of("histogram 256, all alike", 256, all_alike),
    histogram_of("histogram 16384", 16_384),
    histogram_of("histogram 16384, skewed", 16_384, skewed),
    histogram_of("histogram 49152", 49_152),
    histogram_of("histogram 1048576", 2**20),
    histogram_of("histogram 256 edges", EDGES),
    Work("bincount int32", "bincount", 4, np.bincount, dtype="int32"),
    Work("bincount int64", "bincount", 8, np.bincount, dtype="int64"),
    Work("bincount uint8", "bincount", 1, np.bincount, dtype="uint8"),
    blur_of("blur cross", lambda x: ndimage.correlate(x, CROSS, mode="nearest"), kind="cross"),
    blur_of("blur box 9", lambda x: ndimage.uniform_filter(x, 9, mode="nearest"), kind="box", size=9),
    blur_of("blur gaussian 2", lambda x: ndimage.gaussian_filter(x, 2, mode="nearest"), kind="gaussian", sigma=2),
    blur_of("blur cross, twice", _cross_twice, kind="cross", iterations=2),
    Work("blur cross of bytes", "blur", 2, _cross_of_pixels, dtype="uint8", how=(("kind", "cross"),)),
)  # fmt: skip
SIZES = {"cpu": (2**20, 2**24, 2**26), "gpu": (2**24, 2**28, 2**30)}


@dataclass(frozen=True)
class Contender:
    """Whoever does the work: a function of the array and what is beside it, on the device unless ``on_host``."""

    name: str
    run: Callable[..., Any]
    on_host: bool = False


def find_device(spec: str) -> gpuprims.Device | str:
    """Return a device, or why there is none."""
    try:
        return gpuprims.Device(spec)
    except (BackendUnavailableError, UnknownDeviceError) as error:
        return str(error)


def sizes(device: gpuprims.Device, work: Work) -> tuple[int, ...]:
    """Return the sizes for a kind of device, as far as argument, result and a copy fit in its memory."""
    able, nbytes = device.capabilities, 3 * np.dtype(work.dtype).itemsize
    asked = SIZES.get(able.kind, SIZES["gpu"])
    if able.kind == "cpu" and work.kernels in ("scan", "compact"):
        asked = asked[:-1]  # some take a second a call
    return tuple(size for size in asked if nbytes * size < able.memory)


def cases(device: gpuprims.Device, contenders: Callable[[Work, int], list[Contender]]) -> list[Any]:
    """Return every contender of every work at every size; those of a size one after the other, which share arrays."""
    rows = [(size, work) for work in WORKS for size in sizes(device, work)]
    return [
        pytest.param(size, work, contender, id=f"{size >> 20}Mi-{work.name}-{contender.name}")
        for size, work in sorted(rows, key=lambda row: row[0])
        for contender in contenders(work, size)
    ]


def variants(device: gpuprims.Device, work: Work, size: int) -> list[Contender]:
    """Return every variant of a work's primitive that can run it on a device, and in less than seconds."""
    shape = work.shape(size)
    long, outputs = (size, 1) if work.axis is None else (shape[work.axis], shape[1 - work.axis])
    asked = {"size": long, "outputs": outputs, "side_by_side": work.axis == 0, "op": work.op or "sum"}
    # For barriers, of which scans by levels have many, and for atomics.
    slow = device.capabilities.kind == "cpu" and size > 2**20
    bins = work.bins if isinstance(work.bins, int) else 256
    explained = gpuprims.explain(work.kernels, device, dtype=work.dtype, bins=bins, **asked)
    able = [
        variant.name
        for variant, reason in explained.refusals
        if reason is None and not (slow and variant.block > 1 and variant.primitive in ("scan", "histogram"))
    ]
    # Each name once: a kernel of compact's own goes before one of scan's.
    return [Contender(f"gpuprims {name}", partial(work.on_device, variant=name)) for name in dict.fromkeys(able)]


def from_numpy(device: gpuprims.Device, work: Work) -> Contender:
    """Return the call as a user of NumPy arrays makes it, transfers or sharing included."""
    return Contender("gpuprims, NumPy array", partial(work.on_device, device=device), on_host=True)


def random_array(size: int, dtype: str = "float32", *, steps: bool = False) -> np.ndarray:
    """Return numbers from 0 to 1, integers from 0 to 255, or -1 and 1."""
    rng = np.random.default_rng(20261121)
    if not steps:
        return rng.random(size, dtype) if np.dtype(dtype).kind == "f" else rng.integers(0, 256, size, dtype)
    return rng.integers(0, 2, size, np.int8).astype(dtype) * np.array(2, dtype) - np.array(1, dtype)


def expectation(work: Work, x: np.ndarray, *beside: np.ndarray) -> Any:
    """Return NumPy's result, which others are held against before any time is taken."""
    if work.kernels == "histogram":  # by many threads: one takes 10 s of 2^28 elements
        with ThreadPoolExecutor() as pool:
            counts = list(pool.map(work.numpy, np.array_split(x, 64)))
        return sum(np.pad(one, (0, max(map(len, counts)) - len(one))) for one in counts)
    if work.primitive == "blur":  # the first rows, of means that SciPy cuts after rounding
        return work.numpy(x[:64])[:32]
    if work.op == "sum" and work.kernels == "reduce":
        return np.sum(x, axis=work.axis, dtype=np.float64)
    return work.numpy(x, *beside)


def check(work: Work, result: np.ndarray, expected: Any) -> None:
    """Hold a result against what is expected."""
    if work.primitive == "blur":
        got = result[: len(expected)].astype(np.float64)  # in which differences of bytes are none modulo 256
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1 if result.dtype == np.uint8 else 0)
    elif work.op == "sum" and work.kernels == "reduce":
        np.testing.assert_allclose(result, expected, rtol=1e-5)
    else:
        np.testing.assert_array_equal(result.reshape(np.shape(expected)), expected)
