"""ndimage: filters of arrays of any dimension, with the names and the meaning of :mod:`scipy.ndimage`."""

from typing import Any

from gpuprims.errors import did_you_mean
from gpuprims.ndimage.binary import binary_closing, binary_dilation, binary_erosion, binary_opening
from gpuprims.ndimage.derivatives import laplace, prewitt, sobel
from gpuprims.ndimage.extremes import maximum_filter, maximum_filter1d, minimum_filter, minimum_filter1d
from gpuprims.ndimage.gaussians import gaussian_filter, gaussian_filter1d
from gpuprims.ndimage.generic import generic_filter
from gpuprims.ndimage.gradients import (
    gaussian_gradient_magnitude,
    gaussian_laplace,
    generic_gradient_magnitude,
    generic_laplace,
)
from gpuprims.ndimage.grey import grey_closing, grey_dilation, grey_erosion, grey_opening
from gpuprims.ndimage.linear import convolve, convolve1d, correlate, correlate1d
from gpuprims.ndimage.means import uniform_filter, uniform_filter1d
from gpuprims.ndimage.rank_filters import median_filter, percentile_filter, rank_filter

__all__ = [
    "binary_closing",
    "binary_dilation",
    "binary_erosion",
    "binary_opening",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "generic_filter",
    "generic_gradient_magnitude",
    "generic_laplace",
    "grey_closing",
    "grey_dilation",
    "grey_erosion",
    "grey_opening",
    "laplace",
    "maximum_filter",
    "maximum_filter1d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "percentile_filter",
    "prewitt",
    "rank_filter",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
]

# Names of other libraries, and of SciPy's ndimage that are no filters of neighbours.
_INSTEAD = {
    "gaussian": "gaussian_filter", "gaussian_blur": "gaussian_filter", "box_filter": "uniform_filter",
    "mean_filter": "uniform_filter", "erosion": "grey_erosion", "dilation": "grey_dilation",
    "opening": "grey_opening", "closing": "grey_closing", "laplacian": "laplace", "median": "median_filter",
}  # fmt: skip
_NO_FILTERS = (
    "affine_transform binary_fill_holes binary_hit_or_miss binary_propagation black_tophat center_of_mass"
    " distance_transform_bf distance_transform_cdt distance_transform_edt extrema find_objects fourier_ellipsoid"
    " fourier_gaussian fourier_shift fourier_uniform generate_binary_structure generic_filter1d geometric_transform"
    " histogram iterate_structure label labeled_comprehension map_coordinates maximum maximum_position mean minimum"
    " minimum_position morphological_gradient morphological_laplace rotate shift spline_filter spline_filter1d"
    " standard_deviation sum sum_labels value_indices variance vectorized_filter watershed_ift white_tophat"
    " zoom"
)


def __getattr__(name: str) -> Any:
    hint = ""
    if name in _NO_FILTERS.split():
        hint = f" (only filters of neighbours are here; write scipy.ndimage.{name} of NumPy arrays)"
    elif not name.startswith("_"):
        hint = did_you_mean(name, __all__, _INSTEAD)
    raise AttributeError(f"module 'gpuprims.ndimage' has no attribute {name!r}{hint}", name=name)


def __dir__() -> list[str]:
    return list(__all__)
