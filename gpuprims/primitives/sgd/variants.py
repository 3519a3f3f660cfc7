"""The variants of sgd. Comments name the rows of measurements.md."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.logistic.refusals import number_atomics, row_fits
from gpuprims.primitives.logistic.variants import LogisticVariant
from gpuprims.primitives.sgd.reference import sgd_numpy


@dataclass(frozen=True)
class SgdVariant(LogisticVariant):
    """A variant of steps by single samples."""

    takes_turns: bool = False  # teams of work-items of one group take samples in turn
    fixed: bool = False  # operations are the same on every device
    whole: int = 1  # the group is a multiple of so many work-items


_SGD = Catalogue(SgdVariant, "sgd", Path(__file__).parent)
# The thesis' fastest groups have 2 teams of 128 work-items.
_TURNS: dict[str, Any] = {"geometry": Geometry(256, 1), "takes_turns": True}  # rows: slots


def _asked(capabilities: Capabilities, call: CallTraits) -> str:
    return "is the thesis' kernel, for calls that ask for it by name"


VARIANTS = (
    _SGD.cpu(
        "cpu_sequential",
        rank=100,
        geometry=Geometry(1, 1),  # rows: cpu_sequential
        refuse=lambda at: first_refusal(for_cpus, double_precision),
    ),
    *_SGD.gpu(
        "gram",
        rank=90,
        geometry=Geometry(256, 64, 8),  # rows: gram
        vectors=True,
        scratch="products",
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), row_fits(at)),
    ),
    *_SGD.gpu(
        "warp_atomic",
        rank=20,
        whole=32,
        level="none",
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), number_atomics),
        yields=_asked,
        **_TURNS,
    ),
    *_SGD.gpu(
        "linear",
        rank=10,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block)),
        yields=_asked,
        **_TURNS,
    ),
    *_SGD.gpu(
        "fixed",
        rank=5,
        geometry=Geometry(128, 1),  # rows: fixed
        fixed=True,
        level="device",
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block)),
    ),
    _SGD.numpy(sgd_numpy, Geometry(1, 1), level="device"),
)
