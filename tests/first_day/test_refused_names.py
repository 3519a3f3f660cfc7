"""Functions of NumPy and SciPy that are none here: what messages and the page of names say instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

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
