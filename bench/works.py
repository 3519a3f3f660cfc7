"""Works to measure; a case is a work at a size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import oracles
from .elements import Elements, Samples

# Works that launch kernels of several primitives, or of one by a level of determinism.
_OF_SEVERAL = ("fit", "unique", "by key", "segmented sort", "levels")


@dataclass(frozen=True)
class Work:
    """One call: its function in gpuprims and in NumPy or SciPy, its arrays, and the check of its result.

    ``call`` takes the arrays, and ``device=`` or ``variant=``. ``host`` is NumPy's function; ``expect`` is the oracle
    if ``host`` is missing or too slow. A call must move ``nbytes`` bytes per element or row of samples, and ``limit``
    names the bandwidth that bounds it. ``steps`` is the number of iterations of a call that loops.
    """

    name: str
    primitive: str
    nbytes: float
    call: Callable[..., Any]
    host: Callable[..., Any]
    check: Callable[[Any, Any], None] = oracles.exact
    expect: Callable[..., Any] | None = None
    inputs: Elements | Samples = field(default_factory=Elements)
    sizes: str = "more"
    limit: str = "copy"
    library: str = "NumPy"
    steps: int = 1
    op: str = "sum"
    bins: Any = 256
    on_host: bool = False  # the arrays stay NumPy's

    @property
    def expected(self) -> Callable[..., Any]:
        return self.expect or self.host

    @property
    def kernels(self) -> str:
        """Return the primitive whose variants compute it, or nothing if several do."""
        names = {"segments": "scan", "bincount": "histogram", "blur": "stencil"} | dict.fromkeys(_OF_SEVERAL, "")
        return names.get(self.primitive, self.primitive)


@dataclass(frozen=True)
class Case:
    """A work at a size."""

    work: Work
    size: int

    @property
    def label(self) -> str:
        return f"{self.work.name}, {self.work.inputs.label(self.size)}"

    @property
    def nbytes(self) -> float:
        return self.work.nbytes * self.size


@dataclass(frozen=True)
class Sizes:
    """Numbers of elements or rows of a work, by default and with ``--full``."""

    cpu: tuple[int, ...]
    cpu_full: tuple[int, ...]
    gpu: tuple[int, ...]
    gpu_full: tuple[int, ...]


def powers(*exponents: int) -> tuple[int, ...]:
    """Return these powers of two."""
    return tuple(2**exponent for exponent in exponents)
