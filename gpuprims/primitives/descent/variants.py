"""The variants of descent. Comments name the rows of measurements.md."""

from __future__ import annotations

from pathlib import Path

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.catalogue import Catalogue
from gpuprims.core.geometry import Geometry, Refusal, first_refusal
from gpuprims.core.refusals import double_precision, for_cpus, group_fits
from gpuprims.core.traits import CallTraits
from gpuprims.primitives.descent.reference import descent_numpy
from gpuprims.primitives.logistic.refusals import columns_fit, gradient_fits, gradients_fit, samples_fit
from gpuprims.primitives.logistic.variants import LogisticVariant

_DESCENT = Catalogue(LogisticVariant, "descent", Path(__file__).parent)
# The rungs of the article's ladder, for any number of rows. The bench tries them with other numbers of work-items.
_GROUP, _ONE_ITEM = Geometry(64, 1), Geometry(1, 1)


def _gradient(at: Geometry) -> Refusal:
    return first_refusal(double_precision, gradient_fits)


def _sums(at: Geometry) -> Refusal:
    return first_refusal(_gradient(at), group_fits(at.block), gradients_fit(at.block))


def _asked(capabilities: Capabilities, call: CallTraits) -> str:
    return "is for calls that ask for this rung of the articles' ladder by name"


VARIANTS = (
    _DESCENT.cpu(
        "cpu_persistent",
        rank=20,
        geometry=Geometry(1, 2**18),  # rows: cpu_persistent
        scratch="columns",
        refuse=lambda at: first_refusal(for_cpus, double_precision, gradient_fits, samples_fit(at)),
    ),
    *_DESCENT.gpu(
        "persistent",
        rank=10,
        geometry=Geometry(256, 160),  # rows: persistent
        word_items=True,
        refuse=lambda at: first_refusal(double_precision, group_fits(at.block), columns_fit, samples_fit(at)),
    ),
    *_DESCENT.gpu("vec4", rank=5, vectors=True, refuse=_sums, yields=_asked, geometry=_GROUP),
    *_DESCENT.gpu("tree", rank=4, refuse=_sums, yields=_asked, geometry=_GROUP),
    *_DESCENT.gpu("work_items", rank=3, refuse=_sums, yields=_asked, geometry=_GROUP),
    *_DESCENT.gpu("merged_loops", rank=2, refuse=_gradient, yields=_asked, geometry=_ONE_ITEM),
    *_DESCENT.gpu("sequential", rank=1, refuse=_gradient, yields=_asked, geometry=_ONE_ITEM, scratch="rows"),
    _DESCENT.numpy(descent_numpy),
)
