"""Functions of NumPy and of scipy.ndimage that gpuprims does not have, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping

_MATRICES = "linear algebra is not a primitive: use the array library's; a dot product is reduce(x, y, map='x*y')"
_MOVES = "the array's own library creates, moves and joins arrays"

# Names of NumPy's functions, separated by spaces, and advice.
NUMPY: Mapping[str, str] = {
    "clip": "write map('clip(x, 0, 1)', x), with None for an open end",
    "where choose select piecewise": "write map('where(c, x, y)', c, x, y)",
    "compress extract": "write compact(x, mask), with axis= for whole rows",
    "flatnonzero": "write nonzero(x.reshape(-1))[0]",
    "nanmedian nanquantile nanpercentile": "leave NaN out first: median(compact(x, 'x == x'))",
    "nancumsum nancumprod": "write scan(x, op='nansum'), or op='nanprod'",
    "cumulative_sum cumulative_prod": "write cumsum(x), cumprod(x), or those of gpuprims.xp",
    "average": "write reduce(x, w, map='x*w') / reduce(w)",
    "repeat": "write run_length_decode(x, lengths)",
    "ediff1d": "write diff(x.reshape(-1))",
    "gradient": "write stencil(x, [-0.5, 0, 0.5]), where mode= decides the borders",
    "trapezoid": "write reduce(y[1:], y[:-1], diff(x), map='(a + b) * d / 2')",
    "interp": "find the indices by searchsorted, and take the values on both sides",
    "correlate": "write convolve(a, v[::-1], mode)",
    "histogram_bin_edges": "write histogram(x, bins)[1]",
    "union1d": "write unique(x) of both arrays, joined",
    "intersect1d setdiff1d setxor1d":
        "write compact(u, isin(u, y)) with u = unique(x); for a difference, isin with invert=True",
    "take_along_axis put_along_axis": "write take(x, indices, axis=...) for the same indices along an axis",
    "put place putmask copyto": "write map('where(c, y, x)', c, y, x, out=x)",
    "vectorize apply_along_axis apply_over_axes": "write map(function, x), or reduce(x, map=function, axis=...)",
    "cov corrcoef dot vdot inner outer matmul tensordot einsum": _MATRICES,
    "concatenate stack reshape transpose moveaxis roll flip tile pad zeros ones empty full arange linspace": _MOVES,
}  # fmt: skip
# Names of scipy.ndimage's functions, and advice.
NDIMAGE: Mapping[str, str] = {
    "label find_objects": "labelling is not a filter: use SciPy, on the host",
    "sum_labels sum": "write gpuprims.reduce(x, by=labels)",
    "mean maximum minimum variance standard_deviation extrema":
        "write gpuprims.group_by(labels, x, op='mean'), or op='max', 'min', 'var', 'std', 'minmax'",
    "maximum_position minimum_position": "write gpuprims.group_by(labels, x, op='argmax'), or op='argmin'",
    "value_indices": "write gpuprims.argsort(labels, axis=None), and split it by unique(labels, return_counts=True)",
    "median labeled_comprehension": "no primitive folds labels by any function: use SciPy, on the host",
    "histogram": "write gpuprims.histogram(x, bins, (low, high))",
    "generic_filter1d vectorized_filter": "write generic_filter(x, function, size), which traces the function",
    "morphological_gradient morphological_laplace white_tophat black_tophat":
        "subtract: gpuprims.map('d - e', grey_dilation(x, size), grey_erosion(x, size))",
    "binary_fill_holes": "write ~binary_dilation(zeros_like(x), iterations=-1, mask=~x, border_value=1)",
    "binary_propagation": "write binary_dilation(x, iterations=-1, mask=mask)",
    "binary_hit_or_miss": "write binary_erosion(x, s) & binary_erosion(~x, t, border_value=1)",
    "distance_transform_edt distance_transform_cdt distance_transform_bf watershed_ift":
        "no primitive follows paths through an array: use SciPy",
    "zoom rotate shift affine_transform geometric_transform map_coordinates spline_filter spline_filter1d":
        "interpolation is not a filter: use SciPy's or CuPy's",
    "fourier_gaussian fourier_uniform fourier_ellipsoid fourier_shift": "there is no FFT: use SciPy's or CuPy's",
    "generate_binary_structure iterate_structure": "use SciPy's; the filters here take their results",
    "center_of_mass":
        "write [gpuprims.reduce(a) / gpuprims.reduce(x)"
        " for a in gpuprims.map('(x * i, x * j)', x, index=('i', 'j'))]",
}  # fmt: skip


def advice_on(name: str, names: Mapping[str, str]) -> str:
    """Return the end of a message: what to write instead of a function, or nothing for an unknown one."""
    for some, advice in names.items():
        if name in some.split():
            return f" ({advice})"
    return ""
