"""The answer to "which variant, and why"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant


class Choice(NamedTuple):
    """A variant, perhaps in another shape, that was measured to be faster than the best rank; and a sentence of it."""

    variant: Variant
    reason: str


# From the variant of the best rank and a call to what was measured to be faster, if anything was.
Tuned = Callable[[Variant, CallTraits], Choice | None]


@dataclass(frozen=True)
class Explanation:
    """The answer to "which variant, and why": printable, and readable by a program.

    ``refusals`` has one entry per variant, best rank first: the variant and its reason, None for the able. ``tuned`` is
    what :mod:`gpuprims.core.tuned_choices` puts in the place of the first of the able. ``capabilities`` are the
    device's. If groups of a variant wait for each other, the last line says whether that works here, and how that is
    known.
    """

    primitive: str
    device: str
    refusals: tuple[tuple[Variant, str | None], ...]
    tuned: Choice | None = None
    capabilities: Capabilities | None = field(default=None, compare=False)

    @property
    def ranked(self) -> Variant | None:
        """The able variant of the best rank, if there is one."""
        return next((variant for variant, reason in self.refusals if reason is None), None)

    @property
    def chosen(self) -> Variant | None:
        """The variant that runs, if any can."""
        return self.ranked if self.tuned is None else self.tuned.variant

    @property
    def reason(self) -> str | None:
        """The reason why no variant runs: the most common reason of those that begin with "needs".

        Reasons that begin with "is for" belong to variants for other calls or devices, and count last.
        """
        if self.chosen is not None or not self.refusals:
            return None
        reasons = [reason for _, reason in reversed(self.refusals) if reason is not None]
        needs = [reason for reason in reasons if reason.startswith("needs ")]
        others = [reason for reason in reasons if not reason.startswith("is for ")]
        first = needs or others or reasons
        return max(first, key=first.count)

    def __str__(self) -> str:
        lines = [f"{self.primitive} on {self.device}:"]
        wide = max(14, *(len(variant.name) for variant, _ in self.refusals), 0)
        for variant, reason in self.refusals:
            chosen = self.chosen is not None and variant.entry == self.chosen.entry
            word = "chosen" if chosen else "able" if reason is None else "refused"
            lines.append(f"  {word:8}{variant.name:{wide}} rank {variant.rank:<3} {variant.summary}".rstrip())
            if reason is not None:
                lines.append(f"          {reason}")
            elif chosen and self.tuned is not None:
                lines.append(f"          {self.tuned.reason}")
        if self.capabilities is not None and any(variant.waits for variant, _ in self.refusals):
            lines.append(f"  groups of one launch run at the same time: {self.capabilities.progress}")
        return "\n".join(lines)

    __repr__ = __str__
