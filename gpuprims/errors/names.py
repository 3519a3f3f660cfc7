"""Functions of NumPy and of scipy.ndimage that are no functions here, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping

_MATRICES = "linear algebra is no primitive: use the array library's; a dot product is reduce(x, y, map='x*y')"
_MOVES = "the array's library makes, moves and joins arrays: use its own"

# Names of NumPy's functions, separated by spaces, and advice.
NUMPY: Mapping[str, str] = {
    "clip": "write map('clip(x, 0, 1)', x), with None for an open end",
    "where choose select piecewise": "write map('where(c, x, y)', c, x, y)",
    "compress extract": "write compact(x, mask), with axis= for whole rows",
    "flatnonzero": "write nonzero(x.reshape(-1))[0]",
    "nanmedian nanquantile nanpercentile": "leave NaN out before: median(compact(x, 'x == x'))",
    "nancumsum nancumprod": "write scan(x, op='nansum'), or op='nanprod'",
    "cumulative_sum cumulative_prod": "write cumsum(x), cumprod(x), or those of gpuprims.xp",
    "average": "write reduce(x, w, map='x*w') / reduce(w)",
    "repeat": "write run_length_decode(x, lengths)",
    "ediff1d": "write diff(x, prepend=..., append=...)",
    "gradient": "write stencil(x, [-0.5, 0, 0.5]), whose borders are those of its mode=",
    "trapezoid": "write reduce(y[1:], y[:-1], diff(x), map='(a + b) * d / 2')",
    "interp": "find places by searchsorted, and take the values beside them",
    "correlate": "write convolve(a, v[::-1], mode)",
    "histogram_bin_edges": "write histogram(x, bins)[1]",
    "union1d": "write unique of the joined arrays",
    "intersect1d setdiff1d setxor1d": "write compact(u, isin(u, y)) of u = unique(x); invert=True for a difference",
    "take_along_axis put_along_axis": "write take(x, indices, axis=...) for the same indices along an axis",
    "put place putmask copyto": "write map(..., out=x), which writes where a condition says",
    "vectorize apply_along_axis apply_over_axes": "write map(function, x), or reduce(x, map=function, axis=...)",
    "cov corrcoef dot vdot inner outer matmul tensordot einsum": _MATRICES,
    "concatenate stack reshape transpose moveaxis roll flip tile pad zeros ones empty full arange linspace": _MOVES,
}  # fmt: skip
# Names of scipy.ndimage's functions, and advice.
NDIMAGE: Mapping[str, str] = {
    "label find_objects": "components are no filter: label on the host with SciPy",
    "sum_labels sum": "write gpuprims.bincount(labels, weights=x), or reduce(x, by=labels)",
    "mean maximum minimum median variance standard_deviation extrema": "write gpuprims.group_by(labels, x, op='mean')",
    "histogram": "write gpuprims.histogram(x, bins, (low, high))",
    "generic_filter1d vectorized_filter": "write generic_filter(x, function, size), whose function is traced",
    "morphological_gradient morphological_laplace white_tophat black_tophat":
        "subtract: gpuprims.map('d - e', grey_dilation(x, size), grey_erosion(x, size))",
    "binary_fill_holes binary_propagation": "these repeat to an end: iterate binary_dilation under a mask",
    "binary_hit_or_miss": "write binary_erosion(x, s) & binary_erosion(~x, t)",
    "distance_transform_edt distance_transform_cdt distance_transform_bf watershed_ift":
        "these follow paths through an array, as no primitive does: use SciPy",
    "zoom rotate shift affine_transform geometric_transform map_coordinates spline_filter spline_filter1d":
        "interpolation is no filter: use SciPy's or CuPy's",
    "fourier_gaussian fourier_uniform fourier_ellipsoid fourier_shift": "there is no FFT: use SciPy's or CuPy's",
    "generate_binary_structure iterate_structure": "SciPy's make them, and filters here take them",
    "center_of_mass": "write gpuprims.reduce(gpuprims.map('x * i', x, index=('i', 'j'))) / gpuprims.reduce(x)",
}  # fmt: skip


def advice_on(name: str, names: Mapping[str, str]) -> str:
    """Return the end of a message: what to write instead of a function, or nothing for an unknown one."""
    for some, advice in names.items():
        if name in some.split():
            return f" ({advice})"
    return ""
