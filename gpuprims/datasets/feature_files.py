"""Features and labels in two text files, the format of a public benchmark of accelerators."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuprims.errors import ArgumentError, quoted

_LABEL = "read_features"


def read_features(
    features: str | PathLike[str],
    labels: str | PathLike[str],
    *,
    n_features: int | None = None,
    dtype: npt.DTypeLike = np.float32,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Read samples from a text file of features and one of labels, as the thesis' benchmark stores them.

    Parameters
    ----------
    features : str or path
        Numbers separated by spaces, commas or line ends, sample by sample. The spam filter of the Rosetta benchmarks
        has one on each line, 5,000 times 1,024.
    labels : str or path
        A whole number for each sample, separated in the same way.
    n_features : int, optional
        Features of a sample. Default: the numbers over the labels.
    dtype : dtype, default float32

    Returns
    -------
    (ndarray of shape (n_samples, n_features), ndarray of int32 of shape (n_samples,))

    Raises
    ------
    ArgumentError
        A file that cannot be read, something that is no finite number, numbers of features and labels that do not fit.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from gpuprims.datasets import read_features
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     features, labels = pathlib.Path(folder) / "features.dat", pathlib.Path(folder) / "labels.dat"
    ...     _ = features.write_text("0\n0.5\n2\n1\n0\n0\n"), labels.write_text("1\n0\n")
    ...     read_features(features, labels)
    (array([[0. , 0.5, 2. ],
           [1. , 0. , 0. ]], dtype=float32), array([1, 0], dtype=int32))
    """
    numbers, codes = _numbers(features), _numbers(labels)
    if not len(codes):
        raise ArgumentError(f"{_LABEL}: labels of one sample or more; got none in {str(labels)!r}")
    whole = np.rint(codes)
    if not np.array_equal(whole, codes) or np.abs(whole).max() >= 2**31:
        raise ArgumentError(f"{_LABEL}: labels that are whole numbers; got {codes[whole != codes][:1]} in {labels}")
    columns: Any = len(numbers) // len(codes) if n_features is None else n_features
    if not isinstance(columns, int | np.integer) or columns < 1 or columns * len(codes) != len(numbers):
        rule = f"{_LABEL}: features of {len(codes)} samples, one for each label"
        asked = "" if n_features is None else f", {quoted(n_features)} for each sample"
        raise ArgumentError(f"{rule}{asked}; got {len(numbers)} numbers")
    return numbers.reshape(len(codes), columns).astype(dtype), whole.astype(np.int32)


def _numbers(path: Any) -> np.ndarray:
    """Return the numbers of a text file."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ArgumentError(f"{_LABEL}: a readable file; got {str(path)!r} ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{_LABEL}: a text file; got {str(path)!r}, which is not UTF-8") from error
    words = text.replace(",", " ").split()
    try:
        found = np.array(words, np.float64) if words else np.zeros(0)
    except ValueError as error:
        raise _wrong(path, text) from error
    if not np.isfinite(found).all():
        raise _wrong(path, text)
    return found


def _wrong(path: Any, text: str) -> ArgumentError:
    """Return an error that names the first line with something that is no finite number."""
    for number, line in enumerate(text.splitlines(), 1):
        for word in line.replace(",", " ").split():
            if not _is_number(word):
                return ArgumentError(f"{_LABEL}: finite numbers; got {quoted(word)} in {path}, line {number}")
    return ArgumentError(f"{_LABEL}: finite numbers; got others in {path}")


def _is_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False
