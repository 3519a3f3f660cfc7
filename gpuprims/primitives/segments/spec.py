"""The specs of kernels that fold and scan segments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from gpuprims.primitives.fold_spec import FoldSpec

_KERNELS = Path(__file__).parent / "kernels"
_JOINTS = _KERNELS / "joints.h"


@dataclass(frozen=True, eq=False, kw_only=True)
class SegmentSpec(FoldSpec):
    """The macros of a fold of segments; the last input has the offsets."""

    def macros(self) -> dict[str, int | str]:
        """Define where a segment begins."""
        k = len(self.inputs) - 1
        return super().macros() | {"BEGIN(o)": f"((i64)x{k}[gp_at_x{k}(layout, o, 0)])"}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), _KERNELS / "path.h")


@dataclass(frozen=True, eq=False, kw_only=True)
class RunsSpec(SegmentSpec):
    """The macros of a fold of segments by runs, for CPUs."""

    def macros(self) -> dict[str, int | str]:
        """Tell whether neighbours lie side by side, in either direction, and whether folds skip spans of elements."""
        strides = {stride for access in self.inputs for stride in access.reduced}
        # Integers fold in one operation, as long as a comparison takes.
        searches = self.better is not None and len(self.values) == 1 and self.values[0].kind == "f"
        return super().macros() | {"LOADS_MASKED": int(strides <= {-1, 0, 1}), "SEARCHES_SPANS": int(searches)}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (_KERNELS / "runs.h", *super().headers())


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedRunsSpec(RunsSpec):
    """The macros of a fold of segments by runs, in the order of fixed_scans.py, without contraction."""

    contracted: ClassVar[bool] = False

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), _JOINTS)


@dataclass(frozen=True, eq=False, kw_only=True)
class RunsScanSpec(RunsSpec):
    """The macros of a scan of segments by runs."""

    inclusive: bool
    scratch_pointers: ClassVar[int] = 1

    @property
    def aliases(self) -> bool:
        """See :class:`KernelSpec`."""
        return True

    def macros(self) -> dict[str, int | str]:
        """Define the kind of scan."""
        return super().macros() | {"INCLUSIVE": int(self.inclusive)}


@dataclass(frozen=True, eq=False, kw_only=True)
class SharesSpec(SegmentSpec):
    """The macros of a fold by equal shares."""

    of_nothing: bool
    resident: int
    window: int = 1
    inclusive: bool = True
    scratch_pointers: ClassVar[int] = 3

    def macros(self) -> dict[str, int | str]:
        """Tell whether segments may be empty."""
        own = {"OF_NOTHING": int(self.of_nothing), "INCLUSIVE": int(self.inclusive), "GROUPS": self.resident}
        own["WINDOW"] = self.window
        return super().macros() | own

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), _KERNELS / "shares.h")


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedTilesSpec(SharesSpec):
    """The macros of a fold by tiles in the order of fixed_scans.py, without contraction."""

    tile_runs: int
    contracted: ClassVar[bool] = False

    def macros(self) -> dict[str, int | str]:
        """Define how many runs a tile has; the ends of segments take no steps of the path."""
        return super().macros() | {"TILE_RUNS": self.tile_runs, "END_STEPS": 0}

    def headers(self) -> tuple[Path, ...]:
        """See :class:`KernelSpec`."""
        return (*super().headers(), _JOINTS, _KERNELS / "tiles.h")


@dataclass(frozen=True, eq=False, kw_only=True)
class SharesScanSpec(SharesSpec):
    """The macros of a scan by equal shares."""

    stores_vectors: ClassVar[bool] = True

    @property
    def aliases(self) -> bool:
        """See :class:`KernelSpec`."""
        return True
