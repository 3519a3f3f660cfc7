"""check_primitive: check that a primitive's package keeps the rules of the core."""

from __future__ import annotations

import numpy as np

import gpuprims
from gpuprims.core.device import Device, devices
from gpuprims.core.plans import bind_call
from gpuprims.core.primitive import Primitive
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError, UnknownVariantError, quoted
from gpuprims.testing.rules import fail, hold
from gpuprims.testing.variants import left_out


def check_primitive(name: str) -> dict[str, str]:
    """Check a primitive: catalogue, plans, explanations, refusals, and each variant on each device of this machine.

    Parameters
    ----------
    name : str
        A primitive of this library, or of an installed package.

    Returns
    -------
    dict of str to str
        Variants that no device here can run, by label, with their reasons.

    Raises
    ------
    AssertionError
        The first rule that does not hold.
    ArgumentError
        An unknown primitive.

    Examples
    --------
    >>> from gpuprims.testing import check_primitive
    >>> check_primitive("turn")
    Traceback (most recent call last):
    gpuprims.errors.ArgumentError: check_primitive: a primitive that loads; got 'turn'
    """
    found = REGISTRY.primitive(name)
    if found is None:
        raise ArgumentError(f"check_primitive: a primitive that loads; got {quoted(name)}")
    _check_catalogue(found)
    able = [place for place in devices() if REGISTRY.variants(name, place.backend)]
    places = [*able, Device("reference")]
    for place in places:
        _check_plan(found, place)
        _check_explanation(name, place)
    backends = dict.fromkeys(place.backend for place in places)
    known = [variant for backend in backends for variant in REGISTRY.variants(name, backend)]
    return left_out((variant, [place for place in places if place.backend == variant.backend]) for variant in known)


def _check_catalogue(found: Primitive) -> None:
    label = f"primitive {found.name}"
    hold(found.case is not None, label, "a tuning case, which the kit checks by", "none")
    for variant in found.variants:
        hold(variant.primitive == found.name, variant.label, f"a variant of {found.name}", variant.primitive)
        hold(bool(variant.summary), variant.label, "a header or docstring that begins with a sentence", "none")
    ranks = [(variant.backend, variant.rank) for variant in found.variants]
    hold(len({*ranks}) == len(ranks), label, "one variant for each backend and rank", sorted(ranks))


def _check_plan(found: Primitive, device: Device) -> None:
    """Check that a plan compiles nothing, and computes as the call."""
    case = found.case
    if case is None or found.bind is None:
        return
    label = f"primitive {found.name} on {device.spec}"
    array = case.elements(np.random.default_rng(0), np.dtype(case.dtypes[0]), 1000)
    arguments, compiled = case.arguments(array), len(device._kernels)
    plan = bind_call(found.name, arguments, {"device": device})[3]
    hold(plan.explanation.chosen is not None, label, "a variant for the tuning case", plan.explanation)
    hold(len(device._kernels) == compiled, label, "a plan that compiles nothing", f"{len(device._kernels)} kernels")
    arrays = [one for one in arguments if isinstance(one, np.ndarray)]
    result = gpuprims.plan(found.name, *arguments, device=device)(*arrays)
    expected = case.expected(array)
    got = np.asarray(result[0] if isinstance(result, tuple) else result)
    hold(np.allclose(got, expected, case.rtol, 0), label, "a plan that computes as NumPy", quoted(got))
    try:
        case.run(array, device=device, variant="no_such_variant")
    except UnknownVariantError:
        return
    fail(label, "UnknownVariantError for variant='no_such_variant'", "a result")


def _check_explanation(name: str, device: Device) -> None:
    label, explanation = f"explain of {name} on {device.spec}", gpuprims.explain(name, device)
    known = {variant.label for variant in REGISTRY.variants(name, device.backend)}
    told = {variant.label for variant, _ in explanation.refusals}
    hold(known <= told, label, "a line for each variant", f"none for {sorted(known - told)}")
    reason = explanation.chosen is not None or not explanation.refusals or explanation.reason
    hold(bool(reason), label, "a variant, or a reason why there is none", explanation)
