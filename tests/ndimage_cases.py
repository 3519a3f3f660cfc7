"""Random calls of SciPy's filters, and how their results compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import ndimage as scipy_ndimage

import gpuprims
from gpuprims import ndimage

MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
_RANKS = ["minimum_filter", "maximum_filter", "minimum_filter1d", "maximum_filter1d", "rank_filter"]
_RANKS += ["median_filter", "percentile_filter"]
_SHAPES = [f"{kind}_{name}" for kind in ("grey", "binary") for name in ("erosion", "dilation", "opening", "closing")]
_DERIVATIVES = ["sobel", "prewitt", "laplace", "gaussian_laplace", "gaussian_gradient_magnitude", "generic"]
# Relative to the largest result: sums of a few hundred terms.
CLOSE = {"f4": 3e-6, "f8": 1e-13, "f2": 2e-3}

Called = tuple[str, tuple[Any, ...], dict[str, Any]]
Draw = Callable[["Draws"], Called]


class Draws:
    """Random arguments of a call: an array, and what filters take beside it."""

    def __init__(self, seed: int, axes: Sequence[int] = (1, 2, 2, 3, 3, 4)) -> None:
        self.rng = np.random.default_rng(seed)
        self.ndim = int(self.rng.choice(axes))
        self.array = self._array()
        self.common = self._common()

    def _array(self) -> np.ndarray:
        most = (200, 40, 20, 9, 6)[self.ndim - 1]
        shape = tuple(self.rng.integers(1, most, self.ndim).tolist())
        dtype = np.dtype(str(self.rng.choice(DTYPES)))
        numbers = 250 * (self.rng.random(shape) - (dtype.kind in "if" and self.rng.random() < 0.7) / 2)
        x = (numbers > 50 if dtype.kind == "b" else numbers / (2 if dtype == np.int8 else 1)).astype(dtype)
        layout = self.rng.integers(5)
        if layout == 0:
            return np.ascontiguousarray(x.T).T
        if layout == 1:
            wide = np.repeat(x, 2, axis=-1)
            return wide[..., ::2]
        return x[::-1] if layout == 2 else x

    def _common(self) -> dict[str, Any]:
        """Return a mode, an element beyond the borders, and perhaps a dtype of the result."""
        found: dict[str, Any] = {"mode": str(self.rng.choice(MODES))}
        if self.rng.random() < 0.5:
            found["cval"] = int(self.rng.integers(0, 2 if self.array.dtype.kind == "b" else 9))
        if self.rng.random() < 0.4:
            found["output"] = np.dtype(str(self.rng.choice(["float32", "float64", "int32", "int16"])))
        return found

    def lengths(self, most: int) -> tuple[int, ...]:
        """Return lengths of a neighbourhood."""
        return tuple(self.rng.integers(1, most, self.ndim).tolist())

    def origins(self, lengths: Sequence[int]) -> list[int]:
        """Return an origin that fits each length, 0 half the time."""
        if self.rng.random() < 0.5:
            return [0] * len(lengths)
        return [int(self.rng.integers(-(n // 2), (n - 1) // 2 + 1)) for n in lengths]

    def weights(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return whole weights, positive fractions, or symmetric ones."""
        kind = self.rng.integers(4)
        if kind == 0:
            return self.rng.integers(-4, 5, shape)
        weights = self.rng.random(shape) / np.prod(shape) * (0.9 if kind == 1 else 1)
        return weights + np.flip(weights) if kind == 2 else weights

    def axes(self) -> tuple[int, ...]:
        """Return some axes, in any order."""
        count = int(self.rng.integers(1, self.ndim + 1))
        return tuple(self.rng.permutation(self.ndim)[:count].tolist())


def compare(device: gpuprims.Device, name: str, x: np.ndarray, *args: Any, **keywords: Any) -> None:
    """Check a call against SciPy's: integers exactly, floats to rounding, errors to be errors of both."""
    said = f"{name}({x.dtype}{x.shape} {x.strides}, {args}, {keywords})"
    try:
        with np.errstate(all="ignore"):
            expected = getattr(scipy_ndimage, name)(np.ascontiguousarray(x), *args, **keywords)
    except (RuntimeError, ValueError, TypeError) as error:
        try:
            getattr(ndimage, name)(x, *args, device=device, **keywords)
        except gpuprims.errors.GpuprimsError:
            return
        raise AssertionError(f"{said}: SciPy raises {error!r}") from error
    got = getattr(ndimage, name)(x, *args, device=device, **keywords)
    assert got.dtype == expected.dtype, f"{said}: {got.dtype}, SciPy's is {expected.dtype}"
    assert got.shape == expected.shape, said
    if got.dtype.kind == "b":
        expected = expected.view(np.uint8) != 0  # SciPy stores sums as bytes of bools
    if got.dtype.kind != "f":
        wrong = np.argwhere(got != expected)
        at = tuple(wrong[0]) if len(wrong) else ()
        assert not len(wrong), f"{said}: {len(wrong)} differ, at {at} {got[at]}, SciPy's is {expected[at]}"
        return
    scale = max(np.abs(expected).max(initial=0), np.abs(x).max(initial=0))
    short = min(got.itemsize, 8 if x.dtype.kind != "f" else x.itemsize)
    far = np.abs(got - expected).max(initial=0) / (scale or 1)
    assert far <= CLOSE[f"f{short}"], f"{said}: relative error {far}"


def draws(
    draw: Draw, first: int, count: int, **keywords: Any
) -> Iterator[tuple[str, np.ndarray, tuple[Any, ...], dict[str, Any]]]:
    """Yield calls: the name, the array, and the other arguments."""
    for seed in range(first, first + count):
        found = Draws(seed, **keywords)
        name, args, more = draw(found)
        yield name, found.array, args, found.common | more


def draw_linear(at: Draws) -> Called:
    """Return a call of a weighted sum."""
    rng, most = at.rng, (60, 9, 5, 4, 3)[at.ndim - 1]
    name = str(rng.choice(["correlate", "convolve", "correlate1d", "convolve1d", "uniform_filter", "uniform_filter1d"]))
    if name in ("correlate", "convolve"):
        weights = at.weights(at.lengths(most))
        return name, (weights,), {"origin": at.origins(weights.shape)}
    axis = int(rng.integers(-at.ndim, at.ndim))
    if name in ("correlate1d", "convolve1d"):
        weights = at.weights((int(rng.integers(1, 40)),))
        return name, (weights, axis), {"origin": at.origins(weights.shape)[0]}
    if name == "uniform_filter1d":
        size = int(rng.integers(1, 40))
        return name, (size, axis), {"origin": at.origins((size,))[0]}
    sizes = at.lengths(12)
    if rng.random() < 0.3:
        axes = at.axes()
        return name, (sizes[: len(axes)],), {"axes": axes}
    return name, (sizes,), {"origin": at.origins(sizes)}


def draw_gaussian(at: Draws) -> Called:
    """Return a call of a Gaussian filter."""
    rng, more = at.rng, dict[str, Any]()
    if at.array.dtype.kind == "b" or (at.array.dtype.kind == "u" and at.array.itemsize > 2):
        at.array = at.array.astype(np.int32)  # SciPy's negative numbers differ between platforms
    if rng.random() < 0.4:
        axis, sigma = int(rng.integers(-at.ndim, at.ndim)), 5 * rng.random()
        more = {"order": int(rng.choice([0, 0, 1, 2, 3])), "truncate": 1 + 3 * rng.random()}
        return "gaussian_filter1d", (sigma, axis), more
    more = {"order": int(rng.choice([0, 0, 0, 1, 2]))}
    axes = at.axes()
    if rng.random() < 0.3:
        more["axes"] = axes
    if rng.random() < 0.3:
        more["radius"] = int(rng.integers(0, 5))
    if rng.random() < 0.3:
        more["mode"] = [str(one) for one in rng.choice(MODES, len(axes) if "axes" in more else at.ndim)]
    sigmas = 3 * rng.random(len(axes) if "axes" in more else at.ndim)
    return "gaussian_filter", (sigmas.tolist() if rng.random() < 0.5 else float(sigmas[0]),), more


def draw_derivative(at: Draws) -> Called:
    """Return a call of a filter made of derivatives."""
    rng = at.rng
    if at.array.dtype.kind == "b" or (at.array.dtype.kind == "u" and at.array.itemsize > 2):
        at.array = at.array.astype(np.int32)  # SciPy's negative numbers differ between platforms
    name = str(rng.choice(_DERIVATIVES))
    more: dict[str, Any] = {}
    if rng.random() < 0.2:
        more["mode"] = [str(one) for one in rng.choice(MODES, at.ndim)]
    if name in ("sobel", "prewitt"):
        return name, (int(rng.integers(-at.ndim, at.ndim)),), more
    if name == "generic":
        return "laplace", (), {"axes": at.axes()}
    return name, () if name == "laplace" else (0.5 + rng.random(),), more


def draw_rank(at: Draws) -> Called:
    """Return a call of a filter by rank."""
    rng, most = at.rng, (60, 9, 5, 4, 3)[at.ndim - 1]
    name = str(rng.choice(_RANKS))
    if at.ndim == 1:
        at.common.pop("output", None)  # SciPy's ranks of one axis are wrong for others than the array's
    if name.endswith("1d"):
        size = int(rng.integers(1, 80))
        return name, (size, int(rng.integers(-at.ndim, at.ndim))), {"origin": at.origins((size,))[0]}
    lengths = at.lengths(most)
    if at.ndim == 1:
        lengths = (min(*lengths, *at.array.shape),)  # nor for neighbourhoods longer than the array
    more: dict[str, Any] = {"origin": at.origins(lengths)}
    if rng.random() < 0.5 and (at.ndim > 1 or name in _RANKS[:2]):  # SciPy's ranks of one axis take no footprint
        more["footprint"] = rng.random(lengths) < 0.6
        if not more["footprint"].any():
            more["footprint"].flat[0] = True
    elif rng.random() < 0.3:
        axes = tuple(sorted(at.axes()))  # SciPy's footprints take no others
        more = {"size": lengths[: len(axes)], "axes": axes}
    else:
        more["size"] = lengths
    count = int(more["footprint"].sum() if "footprint" in more else np.prod(more["size"]))
    if name == "rank_filter":
        return name, (int(rng.integers(-count, count)),), more
    if name == "percentile_filter":
        return name, (float(rng.choice([0, 100, -30, 50, 77.7])),), more
    if name != "median_filter" and "footprint" not in more and rng.random() < 0.3:
        more["mode"] = [str(one) for one in rng.choice(MODES, len(more["size"]))]
    return name, (), more


def draw_shape(at: Draws) -> Called:
    """Return a call of a filter by shape."""
    rng, most = at.rng, (20, 7, 5, 4, 3)[at.ndim - 1]
    lengths = at.lengths(most)
    footprint = rng.random(lengths) < 0.7
    footprint.flat[int(rng.integers(footprint.size))] = True
    name = str(rng.choice(_SHAPES))
    if name.startswith("grey"):
        more: dict[str, Any] = {"origin": at.origins(lengths)}
        kind = rng.integers(4)
        if kind == 0:
            more["size"] = lengths
        elif kind == 1:
            more["footprint"] = footprint
        else:
            heights = rng.integers(0, 5, lengths)
            if at.array.dtype.kind in "bu" or at.array.itemsize == 1:
                at.array = at.array.astype(np.int32)  # SciPy wraps some sums of a neighbourhood, but not all
            more["structure"] = heights if kind == 2 else heights / 7
        return name, (), more
    at.array, at.common = (at.array > (at.array.mean() if rng.random() < 0.5 else 0)), {}
    if rng.random() < 0.3:
        at.array = at.array.astype(str(rng.choice(["uint8", "float32", "int64"])))
    # SciPy's other way writes beyond its memory if the structure is longer than the array.
    more = {"border_value": int(rng.integers(2)), "iterations": int(rng.choice([1, 1, 2, 3, 0])), "brute_force": True}
    if rng.random() < 0.7:
        more |= {"structure": footprint, "origin": at.origins(lengths)}
    if rng.random() < 0.3:
        more["mask"] = rng.random(at.array.shape) < 0.6
    if rng.random() < 0.2:
        more["output"] = np.uint8
    if not more["iterations"]:
        more.pop("origin", None)
        footprint[tuple(n // 2 for n in lengths)] = True  # the element itself, so that iterations end
    return name, (), more
