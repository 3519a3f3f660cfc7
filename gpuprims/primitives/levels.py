"""Foldings for the level of determinism that a call is asked for."""

from __future__ import annotations

from gpuprims.core.determinism import asked_level, asks_for_device
from gpuprims.operators import Folding
from gpuprims.operators.exact_foldings import exactly
from gpuprims.operators.exact_products import multiplied_exactly
from gpuprims.operators.exact_windows import Window
from gpuprims.operators.portable import settled

# What folds of parts whose number depends on the device may ask for.
IN_SLABS = 'determinism="order" for sums and products'


def at_level(folding: Folding, window: Window | None = None) -> Folding:
    """Return a folding whose sums and products of floats have no order, if calls here ask for the level "order".

    The bits of all elements lie in a ``window``, if it is given.
    """
    return multiplied_exactly(exactly(folding, window)) if adds_words() else folding


def settled_here(folding: Folding) -> Folding:
    """Return a folding whose results have the same bits on every device, if calls here are asked for that.

    Its functions cannot be traced again.
    """
    return settled(folding) if asks_for_device() else folding


def adds_words() -> bool:
    """Return True at the level "order", where kernels that fold in order add the words of exact sums and products."""
    return asked_level() == "order"
