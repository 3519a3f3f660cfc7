"""Functions of NumPy and SciPy that are none here: what messages and the page of names say instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import gpuprims
from gpuprims.errors.names import NDIMAGE, NUMPY

PAGE = Path(__file__).parents[2] / "docs" / "coming-from" / "names.md"
LISTED = [("gpuprims", np, NUMPY), ("gpuprims.ndimage", ndimage, NDIMAGE)]


def names_of(table: Mapping[str, str]) -> list[str]:
    return [name for names in table for name in names.split()]


def drawn(page: str) -> str:
    """Return the page with its tables of refused names as the code has them."""
    for which, table in (("NumPy", NUMPY), ("ndimage", NDIMAGE)):
        rows = [f"| {', '.join(f'`{name}`' for name in names.split())} | {said} |" for names, said in table.items()]
        text = "\n".join(["| names | instead |", "| --- | --- |", *rows])
        begin = f"<!-- names of {which}: gpuprims/errors/names.py -->"
        page = re.sub(f"{begin}.*?<!-- end -->", lambda _: f"{begin}\n\n{text}\n\n<!-- end -->", page, flags=re.S)  # noqa: B023 - runs at once
    return page


def test_the_page_has_the_names_that_messages_have() -> None:
    page = PAGE.read_text()
    assert drawn(page) == page


@pytest.mark.parametrize(("module", "library", "table"), LISTED)
def test_a_refused_name_is_one_of_the_library_and_none_here(
    module: str, library: object, table: dict[str, str]
) -> None:
    here = gpuprims if module == "gpuprims" else gpuprims.ndimage
    for name in names_of(table):
        assert hasattr(library, name), name
        assert name not in here.__all__
        with pytest.raises(AttributeError, match=f"module '{module}' has no attribute '{name}' \\("):
            getattr(here, name)


def test_names_are_listed_once() -> None:
    for table in (NUMPY, NDIMAGE):
        assert len(set(names_of(table))) == len(names_of(table))


def test_each_name_of_ndimage_is_here_or_refused() -> None:
    public = {name for name in dir(ndimage) if not name.startswith("_") and callable(getattr(ndimage, name))}
    assert public - set(gpuprims.ndimage.__all__) - set(names_of(NDIMAGE)) == {"test"}


def test_a_misspelt_filter() -> None:
    with pytest.raises(AttributeError, match="did you mean 'median_filter'"):
        gpuprims.ndimage.median_filtr  # noqa: B018 - the access raises


RNG = np.random.default_rng(0)
X, Y, LABELS = RNG.random((12, 15)), RNG.integers(0, 20, 40), RNG.integers(0, 5, (12, 15))
C, T, W, LENGTHS = X > 0.5, np.sort(RNG.random(30)), RNG.random(30), RNG.integers(0, 4, 30)
MASK, S = RNG.random((12, 15)) < 0.7, np.array([[0, 1, 0], [1, 1, 1], [0, 0, 0]], bool)
HOLES = np.where(C, X, np.nan)
# Code of an advice, what `x` is in it, and the result of the library's function.
ADVICE: dict[str, tuple[str, Any, Any]] = {
    "clip": ("map('clip(x, 0, 1)', x)", 3 * X - 1, np.clip(3 * X - 1, 0, 1)),
    "where": ("map('where(c, x, y)', c, x, y)", X, np.where(C, X, X.T[:, :1].T)),
    "compress": ("compact(x, mask)", X, np.extract(MASK, X)),
    "flatnonzero": ("nonzero(x.reshape(-1))[0]", C, np.flatnonzero(C)),
    "nanmedian": ("median(compact(x, 'x == x'))", HOLES, np.nanmedian(HOLES)),
    "nancumsum": ("scan(x, op='nansum')", HOLES, np.nancumsum(HOLES)),
    "average": ("reduce(x, w, map='x*w') / reduce(w)", T, np.average(T, weights=W)),
    "repeat": ("run_length_decode(x, lengths)", T, np.repeat(T, LENGTHS)),
    "ediff1d": ("diff(x.reshape(-1))", X, np.ediff1d(X)),
    "gradient": ("stencil(x, [-0.5, 0, 0.5])", T, np.gradient(np.pad(T, 1, mode="edge"))[1:-1]),
    "trapezoid": ("reduce(y[1:], y[:-1], diff(x), map='(a + b) * d / 2')", T, np.trapezoid(W, T)),
    "histogram_bin_edges": ("histogram(x, bins)[1]", X, np.histogram_bin_edges(X, 7)),
    "putmask": ("map('where(c, y, x)', c, y, x, out=x)", X.copy(), np.where(C, X.T[:, :1].T, X)),
    "sum_labels": ("gpuprims.reduce(x, by=labels)", X, ndimage.sum_labels(X, LABELS, range(5))),
    "variance": ("gpuprims.group_by(labels, x, op='mean')", X, (range(5), ndimage.mean(X, LABELS, range(5)))),
    "morphological_gradient": (
        "gpuprims.map('d - e', grey_dilation(x, size), grey_erosion(x, size))",
        X,
        ndimage.morphological_gradient(X, 3),
    ),
    "value_indices": (
        "gpuprims.argsort(labels, axis=None)",
        X,
        np.concatenate([np.flatnonzero(k == LABELS) for k in range(5)]),
    ),
    "binary_fill_holes": (
        "~binary_dilation(zeros_like(x), iterations=-1, mask=~x, border_value=1)",
        C,
        ndimage.binary_fill_holes(C),
    ),
    "binary_propagation": (
        "binary_dilation(x, iterations=-1, mask=mask)",
        C & MASK,
        ndimage.binary_propagation(C & MASK, mask=MASK),
    ),
    "binary_hit_or_miss": (
        "binary_erosion(x, s) & binary_erosion(~x, t, border_value=1)",
        C,
        ndimage.binary_hit_or_miss(C, S, ~S & (np.arange(3) == 1)),
    ),
    "center_of_mass": (
        "[gpuprims.reduce(a) / gpuprims.reduce(x) for a in gpuprims.map('(x * i, x * j)', x, index=('i', 'j'))]",
        X,
        ndimage.center_of_mass(X),
    ),
}


@pytest.mark.parametrize("name", ADVICE)
def test_advice_computes_what_the_function_computes(name: str) -> None:
    code, x, expected = ADVICE[name]
    said = {one: advice for table in (NUMPY, NDIMAGE) for names, advice in table.items() for one in names.split()}
    assert code in said[name]
    known = {name: getattr(room, name) for room in (gpuprims, gpuprims.ndimage) for name in room.__all__}
    known |= {"gpuprims": gpuprims, "zeros_like": np.zeros_like}
    known |= {"x": x, "c": C, "y": W if name == "trapezoid" else X.T[:, :1].T, "w": W, "lengths": LENGTHS, "bins": 7}
    known |= {"mask": MASK, "labels": LABELS, "size": 3, "s": S, "t": ~S & (np.arange(3) == 1)}
    with gpuprims.use_device("reference"):
        got = eval(code, known)  # noqa: S307 - code of this library's messages
    for one, wanted in zip(got, expected, strict=True) if isinstance(got, tuple) else ((got, expected),):
        np.testing.assert_allclose(one, wanted, rtol=1e-12, atol=1e-12)
