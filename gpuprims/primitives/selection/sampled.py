"""The launches of selection/sampled: a sample brackets each rank, and one pass over a row leaves few candidates."""

from __future__ import annotations

import math
from typing import NamedTuple

from gpuprims.core.counters import with_counters
from gpuprims.core.driver import Launch
from gpuprims.core.launch_plan import in_turn
from gpuprims.primitives.ordering import DIGIT_BITS, STATE_BYTES, digits, order_bits
from gpuprims.primitives.selection.spec import SampledSpec
from gpuprims.primitives.selection.work import Work

# As in selection_sampled.cl, and sampling.h.
_CLEAR, _SAMPLE, _FILTER, _DIGIT, _STORE = range(5)
_PIECE, _STAGED_BYTES, _TALLY = 4, 1 << 14, 6
# Size of a sample: a power of the length of a row, which keeps both the sample and the candidates few.
_POWER, _MOST_SAMPLED = 0.75, 1 << 19  # rows: sampled
# Standard deviations: less than once in 10^8 calls, a rank is outside of its bracket; see Bracket.
_SIGMAS = 6


class Bracket(NamedTuple):
    """A sample of ``size`` elements, a few neighbours from each ``stretch`` of a row.

    The rank of an element within the sample is about binomially distributed, with a standard deviation of at most half
    the square root of the size. The bracket extends ``reach`` elements of the sample to either side. There is memory
    for ``room`` elements of the row in it, half more than on average. Floyd and Rivest, "Expected time bounds for
    selection" (1975).
    """

    size: int
    stretch: int
    reach: int
    room: int

    @classmethod
    def of(cls, n: int) -> Bracket:
        """Return the bracket for rows of ``n`` elements."""
        size = min(math.ceil(n**_POWER / _PIECE) * _PIECE, _MOST_SAMPLED, n // _PIECE * _PIECE)
        reach = math.ceil(_SIGMAS / 2 * math.sqrt(size)) + _SIGMAS
        stretch = n * _PIECE // size if size else n
        return cls(size, stretch, reach, min(3 * reach * n // max(size, 1) + 64, n))


def launch_sampled(work: Work) -> Launch:
    """Return the launches: clear, the digits of the sample, the pass, the digits of the candidates, and store."""
    (outputs, n, together), bits = work.rows, order_bits(work.dtype)
    kernel = work.kernel(SampledSpec, vector=work.layout.vector_width())
    brackets, bracket, order_bytes = outputs // together, Bracket.of(n), 8 if bits > 32 else 4
    most, packed = work.groups(2**30), work.layout.pack(0)
    each = -(-most // brackets)  # twice the expected candidates of a part fit in local memory
    rounds = -(-(2 * bracket.room * order_bytes) // (_STAGED_BYTES * each))
    parts = max(min(each * rounds, -(-n // work.variant.tile)), 1)

    def launch(tasks: int, step: int, at: int = 0, turn: int = 0) -> Launch:
        numbers = outputs, n, brackets, parts, bracket.room, *bracket[:3]
        return kernel.prepare(max(min(tasks, most), 1), packed, *numbers, step, at, turn % 2)

    shifts = digits(bits)
    passes = [(_FILTER, 0, brackets), *((_DIGIT, at, outputs) for at in shifts)]
    if bracket.size:
        passes = [*((_SAMPLE, at, 2 * brackets) for at in shifts), *passes]
    wide = max(outputs, 2 * brackets)
    launches = [launch(8 * wide, _CLEAR, turn=1)]
    launches += [launch(tasks * parts, step, at, turn) for turn, (step, at, tasks) in enumerate(passes)]
    launches.append(launch(-(-outputs // work.variant.block), _STORE, turn=len(passes)))
    count_bytes = 8 if work.many else 4
    states = 2 * STATE_BYTES * (2 * brackets + outputs)
    counted = count_bytes * (_TALLY * brackets + (wide << DIGIT_BITS))
    return with_counters(work.device, in_turn(launches), wide, states + counted + brackets * bracket.room * order_bytes)
