"""The variants of hogwild. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Variant
from gpuprims.primitives.logistic.refusals import number_atomics
from gpuprims.primitives.sgd.reference import hogwild_numpy

_HOGWILD = Catalogue(Variant, "hogwild", Path(__file__).parent)


def _asked(capabilities: Capabilities, call: CallTraits) -> str:
    return "is for calls that ask for it by name, because it loses some changes"


VARIANTS = (
    *_HOGWILD.gpu(
        "lock_free",
        rank=90,
        geometry=Geometry(32, 32, 4),  # rows: lock_free
        level="none",
        refuse=lambda at: first_refusal(double_precision, number_atomics),
    ),
    *_HOGWILD.gpu(
        "racy",
        rank=80,
        geometry=Geometry(32, 32, 4),  # rows: lock_free
        level="none",
        refuse=lambda at: first_refusal(double_precision, number_atomics),
        yields=_asked,
    ),
    _HOGWILD.numpy(hogwild_numpy, Geometry(1, 1)),
)
