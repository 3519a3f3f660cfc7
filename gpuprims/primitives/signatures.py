"""Types of the public functions, for type checkers: NumPy's arrays in, NumPy's arrays out; else the caller's class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt

from gpuprims.core.determinism import Level
from gpuprims.core.device import Device
from gpuprims.operators import Op

OpName: TypeAlias = Literal[
    "sum", "prod", "mean", "min", "max", "any", "all", "count_nonzero", "norm", "var", "std", "argmin", "argmax",
    "bitwise_and", "bitwise_or", "bitwise_xor", "minmax", "ptp", "nansum", "nanprod", "nanmean", "nanvar", "nanstd",
    "nanmin", "nanmax", "nanargmin", "nanargmax",
]  # fmt: skip
Mode: TypeAlias = Literal["nearest", "reflect", "mirror", "wrap", "constant"]
# What NumPy's arrays are made from.
Host: TypeAlias = npt.NDArray[Any] | Sequence[Any] | complex
HostArray: TypeAlias = npt.NDArray[Any]
Function: TypeAlias = str | Callable[..., Any]
Shape: TypeAlias = int | tuple[int, ...]


class Shaped(Protocol):
    """An array of any library, such as CuPy's, torch's or JAX's."""

    @property
    def shape(self) -> Any:
        """Lengths of the axes."""

    @property
    def dtype(self) -> Any:
        """Dtype of the elements."""


# An array of another library, an array or tuple of arrays of out=, and the class of a NumPy array's elements.
Array = TypeVar("Array", bound=Shaped)
Out = TypeVar("Out")
Element = TypeVar("Element", bound=np.generic)


class Where(TypedDict, total=False):
    """Where a call computes."""

    device: str | Device | None
    variant: str | None


class CompactKeywords(Where, total=False):
    """Keywords of compact."""

    axis: int | None
    out: Any


class ReduceKeywords(Where, total=False):
    """Keywords of reduce, but ``out``."""

    op: OpName | Op | Callable[..., Any]
    map: Function | None
    axis: int | tuple[int, ...] | None
    keepdims: bool
    dtype: npt.DTypeLike | None
    ddof: float
    compensated: bool
    where: Any
    initial: Any
    segments: Any
    by: Any
    determinism: Level | None


class ScanKeywords(Where, total=False):
    """Keywords of scan, but ``out``."""

    op: OpName | Op | Callable[..., Any]
    map: Function | None
    inclusive: bool
    axis: int | None
    dtype: npt.DTypeLike | None
    where: Any
    initial: Any
    reverse: bool
    segments: Any
    by: Any
    determinism: Level | None


class TopKKeywords(Where, total=False):
    """Keywords of top_k, but ``out``."""

    axis: int | None
    largest: bool
    segments: Any


class AtBorders(Where, total=False):
    """Keywords of blur and stencil."""

    mode: Mode
    cval: Any
    channel_axis: int | None
    iterations: int
    determinism: Level | None


class BlurKeywords(AtBorders, total=False):
    """Keywords of blur, but ``out``."""

    size: int | tuple[int, int] | None
    sigma: float | tuple[float, float] | None


class StencilKeywords(AtBorders, total=False):
    """Keywords of stencil, but ``out``."""

    dtype: npt.DTypeLike | None


class SortKeywords(Where, total=False):
    """Keywords of sort and argsort, but ``out``."""

    descending: bool
    stable: bool
    key: Function | None
    less: Function | None
    check: bool
    segments: Any


class HistogramKeywords(Where, total=False):
    """Keywords of histogram that cannot be positional."""

    axis: int | tuple[int, ...] | None
    segments: Any
    deterministic: bool
    out: Any
    determinism: Level | None


class BincountKeywords(Where, total=False):
    """Keywords of bincount that cannot be positional."""

    axis: int | None
    deterministic: bool
    out: Any
    determinism: Level | None


class MergeKeywords(Where, total=False):
    """Keywords of merge, but ``out``."""

    descending: bool
    check: bool


class IsinKeywords(Where, total=False):
    """Keywords of isin that cannot be positional."""

    kind: Literal["sort", "table"] | None
    out: Any


class On(TypedDict, total=False):
    """Where a call computes that is made of others."""

    device: str | Device | None


class UniqueKeywords(On, total=False):
    """Keywords of unique that cannot be positional."""

    equal_nan: bool
    out: Any


class Written(On, total=False):
    """Where a call computes and writes."""

    out: Any


class RandomKeywords(Where, total=False):
    """Keywords of random, but ``out``."""

    dtype: npt.DTypeLike | None
    low: int | None
    high: int | None
