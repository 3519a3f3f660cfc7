"""The variants of Newton's method for batches. Comments name the rows of measurements.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits, lacks_local
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.newton.reference import newton_numpy
from gpuprims.primitives.newton.spec import local_bytes

# Most columns whose sums a work-item keeps in registers.
MOST_HELD = 12  # rows: registers
# Work-items of a team, which folds its sums by halves; places of a block's side.
_TEAM, SIDE = 16, 4
# Most bytes of a thread's sums and columns on CPUs.
_MOST_PRIVATE = 1 << 20
# Bytes of a vector of rows on CPUs, and vectors of a tile.
CPU_VECTOR, CPU_HELD = 64, 4


@dataclass(frozen=True)
class NewtonVariant(Variant):
    """A variant of Newton's method for batches."""

    # Rows of a tile in local memory, for float32; half of them for float64.
    tile_rows: int = 1
    # The block suits the number of rows.
    fits_rows: bool = False


def wide_item(capabilities: Capabilities) -> int:
    """Return the bytes of sums and weights: float64 where the device computes in it."""
    return 8 if capabilities.fp64 or capabilities.kind == "reference" else 4


def _shared(capabilities: Capabilities, call: CallTraits) -> int:
    return local_bytes(call.outputs, call.outputs, call.value_bytes, wide_item(capabilities))


def _compiled(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse PoCL, whose optimiser makes kernels of groups that write beyond their memory."""
    if not capabilities.is_pocl:  # rows: pocl
        return None
    return f"is not for PoCL, whose optimiser compiles it wrongly; {capabilities.name} is one of PoCL's devices"


def _held(at: Geometry) -> Refusal:
    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        if call.outputs > MOST_HELD:
            most = f"up to {MOST_HELD} columns, the intercept's with them"
            return f"holds all sums in the registers of a work-item, of {most}; got {call.outputs}"
        places = (call.outputs + 1) * (call.outputs + 2) // 2 + call.outputs
        folds = call.value_bytes * (
            places * at.block // _TEAM + (0 if capabilities.warp >= _TEAM else _TEAM * at.block)
        )
        return lacks_local(_shared(capabilities, call) + folds, capabilities)

    return refuse


def _tiles(at: Geometry, rows: int) -> Refusal:
    def refuse(capabilities: Capabilities, call: CallTraits) -> str | None:
        pitch = -(-(call.outputs + 1) // SIDE) * SIDE
        tile = rows * 4 // call.value_bytes * (pitch + 2) * call.value_bytes + at.block * call.value_bytes
        return lacks_local(_shared(capabilities, call) + tile + 64, capabilities)

    return refuse


def _stack(capabilities: Capabilities, call: CallTraits) -> str | None:
    """Refuse problems whose sums and tile do not fit on the stack of a CPU thread, or in local memory."""
    columns, vector = call.outputs, CPU_VECTOR
    private = vector * ((columns + 1) * (columns + 2) // 2 + 2 * CPU_HELD * columns)
    if private > _MOST_PRIVATE:
        return f"keeps {_MOST_PRIVATE} bytes of sums a thread; {columns} columns need {private}"
    return lacks_local(_shared(capabilities, call), capabilities)


_NEWTON = Catalogue(NewtonVariant, "newton", Path(__file__).parent)
_ROWS = 32

VARIANTS = (
    _NEWTON.cpu(
        "cpu_rows",
        rank=30,
        geometry=Geometry(1, 16, 16),  # rows: cpu_rows
        refuse=lambda at: first_refusal(for_cpus, double_precision, _stack),
    ),
    *_NEWTON.gpu(
        "registers",
        rank=20,
        geometry=Geometry(128, 64),  # rows: registers
        vectors=True,
        fits_rows=True,
        refuse=lambda at: first_refusal(_compiled, double_precision, group_fits(at.block), _held(at)),
    ),
    *_NEWTON.gpu(
        "tiles",
        rank=10,
        geometry=Geometry(128, 32),  # rows: tiles
        tile_rows=_ROWS,
        refuse=lambda at: first_refusal(_compiled, double_precision, group_fits(at.block), _tiles(at, _ROWS)),
    ),
    _NEWTON.numpy(newton_numpy),
)
