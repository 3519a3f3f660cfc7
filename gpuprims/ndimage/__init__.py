"""ndimage: filters of arrays of any dimension, with the names and the meaning of :mod:`scipy.ndimage`."""

from typing import Never

from gpuprims.errors import absent
from gpuprims.errors.names import NDIMAGE, advice_on
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

# Names of other libraries.
_INSTEAD = {
    "gaussian": "gaussian_filter", "gaussian_blur": "gaussian_filter", "box_filter": "uniform_filter",
    "mean_filter": "uniform_filter", "erosion": "grey_erosion", "dilation": "grey_dilation",
    "opening": "grey_opening", "closing": "grey_closing", "laplacian": "laplace", "median_blur": "median_filter",
}  # fmt: skip


def __getattr__(name: str) -> Never:
    raise absent(__name__, name, __all__, _INSTEAD, advice_on(name, NDIMAGE))


def __dir__() -> list[str]:
    return list(__all__)
