"""check_variant: compare a variant's results with NumPy's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gpuprims.core.capabilities import Capabilities
from gpuprims.core.device import Device
from gpuprims.core.registry import REGISTRY
from gpuprims.core.traits import CallTraits
from gpuprims.core.tuning_case import TuningCase
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, NoVariantError, quoted
from gpuprims.testing.rules import described, fail, hold, layouts

_SEED = 20261122
_MOST = 200_000  # elements of the largest call
_RUNS = 3  # that must give the same bits


def check_variant(variant: Variant | str, device: str | Device | None = None) -> None:
    """Check that a variant computes what NumPy computes, and refuses other calls in sentences.

    It runs the calls of its primitive's tuning case: sizes on both sides of its block and its tile, several dtypes,
    arrays on the host and on the device, offset by an element, with strides and transposed; for folds also a maximum
    and an operator that does not commute. Functions that call several primitives, such as :func:`gpuprims.unique`, are
    checked with the variant in place of those that outrank it. Runs on the same floats must give the same bits, unless
    the variant has ``level="none"``.

    Parameters
    ----------
    variant : Variant or str
        A variant, registered or not, or the label of a registered one: ``"opencl reduce/warp"``.
    device : str or Device, optional
        By default every device of the variant's backend.

    Raises
    ------
    AssertionError
        The first rule that does not hold. To refuse every call on every device breaks a rule too.
    ArgumentError
        An unknown label, or a primitive without a tuning case.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> from gpuprims.testing import check_variant
    >>> check_variant("reference map/numpy")
    >>> def forgetful(spec, memories, layout, n):
    ...     "Apply the function to all elements but the last."
    ...     memories[1].flat[: n - 1] = spec.bound(layout).map(memories[0].ravel(), 0)[0][: n - 1]
    >>> from gpuprims import Geometry, Variant
    >>> able = lambda capabilities, call: None
    >>> check_variant(Variant("map", "forgetful", "reference", forgetful, 1, Geometry(1, 8), able))
    ... # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: reference map/forgetful on reference:0: NumPy's result for float32[1]...; got ...
    """
    found = _found(variant, device)
    places = devices_of(found.backend) if device is None else [Device(device)]
    refusals = [_refusal_of(found, place) for place in places]
    if all(refusals):
        fail(found.label, "a call that it runs", f"refusals of every call, first: {'; '.join(map(str, refusals))}")


def devices_of(backend: str) -> list[Device]:
    """Return every device of a backend; raise if there is none."""
    return [Device._of(driver) for driver in REGISTRY.drivers(backend)]


def _found(variant: Variant | str, device: str | Device | None) -> Variant:
    """Return a variant by its label; the backend may be left out if a device is given."""
    if isinstance(variant, Variant):
        return variant
    backend, _, entry = variant.rpartition(" ")
    backend = backend or ("reference" if device is None else Device(device).backend)
    REGISTRY.backend(backend)
    primitive, _, name = entry.partition("/")
    for known in REGISTRY.variants(primitive, backend):
        if known.name == name:
            return known
    raise ArgumentError(f"check_variant: a label such as 'opencl reduce/warp'; got {quoted(variant)}")


def case_of(primitive: str) -> TuningCase:
    """Return the tuning case of a primitive."""
    found = REGISTRY.primitive(primitive)
    if found is None or found.case is None:
        raise ArgumentError(f"gpuprims.testing: a primitive with a tuning case; got {quoted(primitive)}")
    return found.case


def left_out(known: Iterable[tuple[Variant, Sequence[Device]]]) -> dict[str, str]:
    """Check variants on devices; return those that refuse every call on all of them."""
    left = {}
    for variant, places in known:
        refusals = [_refusal_of(variant, place) for place in places]
        if all(refusals):
            left[variant.label] = str(refusals[0])
    return left


def _refusal_of(variant: Variant, device: Device) -> str | None:
    """Check a variant on a device; return a refusal if it refuses every call."""
    case = case_of(variant.primitive)
    trial = _Trial(variant, device)
    with _registered(trial.asked):
        trial.check(case, "", whole=True)
        for name, further in case.further.items():
            trial.check(further, name, whole=False)
    return None if trial.runs else next(iter(trial.refusals), "no call to run")


@contextmanager
def _registered(variant: Variant) -> Iterator[None]:
    """Register a variant for a while, if none of its name is."""
    REGISTRY.backend(variant.backend)
    known = variant.name in {one.name for one in REGISTRY.variants(variant.primitive, variant.backend)}
    if not known:
        REGISTRY.register(variant)
    try:
        yield
    finally:
        if not known:
            REGISTRY.unregister(variant)


class _Trial:
    """A variant on a device, the number of calls that it ran, and the reasons of those that it refused."""

    def __init__(self, variant: Variant, device: Device) -> None:
        self.device, self.label = device, f"{variant.label} on {device.spec}"
        self.runs, self.refusals, self.unclear = 0, dict[str, None](), list[str]()
        self.asked = replace(variant, refuse=partial(self._refuse, variant))

    def _refuse(self, variant: Variant, capabilities: Capabilities, call: CallTraits) -> str | None:
        """Keep a refusal that is not a sentence: an exception here would count as a failure of the package."""
        reason: Any = variant.refuse(capabilities, call)
        if reason is None:
            return None
        if not isinstance(reason, str) or len(reason.split()) < 3 or reason.startswith("does not run: "):
            self.unclear.append(quoted(reason))
        return str(reason)

    def check(self, case: TuningCase, name: str, *, whole: bool) -> None:
        """Compare results with NumPy's: at every size, then at the largest one in every layout and dtype."""
        sizes = self._sizes()
        tried = sizes if whole else [sizes[len(sizes) // 2], sizes[-1]]
        able: list[int] = []
        of = case.dtypes[0]  # the first dtype that the variant takes
        for dtype in case.dtypes if whole else case.dtypes[:1]:
            ran = [size for size in able[-1:] or tried if self._agrees(case, dtype, size, name)]
            if not able:
                able, of = ran, dtype
        if not able:
            return
        array = self._elements(case, of, able[-1])
        expected = case.expected(array)
        for layout, view in layouts(self.device, array):
            self._compare(case, view, expected, ", ".join(filter(None, (name, layout))))
        self._check_repeats(case, name, able[-1])

    def _agrees(self, case: TuningCase, dtype: str, size: int, name: str) -> bool:
        array = self._elements(case, dtype, size)
        return self._compare(case, array, case.expected(array), name)

    def _sizes(self) -> list[int]:
        """Return sizes on both sides of the block, the tile and several tiles."""
        block, tile = self.asked.block, self.asked.tile
        around = {1, 2, 1000, *(mark + by for mark in (block, tile) for by in (-1, 0, 1)), 3 * tile + 7}
        return sorted(size for size in around if 0 < size <= _MOST)

    def _elements(self, case: TuningCase, dtype: str, size: int) -> np.ndarray:
        return case.elements(np.random.default_rng(_SEED + size), np.dtype(dtype), size)

    def _run(self, case: TuningCase, array: Any) -> np.ndarray | None:
        try:
            result = self._result(case, array)
        except NoVariantError as error:
            hold(not self.unclear, self.label, "a refusal in a sentence, or None", ", ".join(self.unclear))
            self.refusals[str(error).rpartition("got a refusal: ")[2]] = None
            return None
        self.runs += case.takes_variant
        return np.array(result if isinstance(result, np.generic | np.ndarray) else self.device.to_host(result))

    def _result(self, case: TuningCase, array: Any) -> Any:
        if case.takes_variant:
            return case.run(array, device=self.device, variant=self.asked)
        with REGISTRY.outranking(self.asked):
            return case.run(array, device=self.device)

    def _compare(self, case: TuningCase, array: Any, expected: np.ndarray, how: str) -> bool:
        """Compare the result of a call with NumPy's; return False if the variant refuses the call."""
        got = self._run(case, array)
        if got is None:
            return False
        rule = f"NumPy's result for {described(array)}{f' ({how})' if how else ''}"
        same = (got.dtype, got.shape) == (expected.dtype, expected.shape)
        hold(same, self.label, f"{rule}, {described(expected)}", described(got))
        right = np.isclose(got, expected, case.rtol, 0, equal_nan=expected.dtype.kind == "f")
        if not right.all():
            first = tuple(int(place) for place in np.argwhere(~np.atleast_1d(right))[0])
            wrong, wanted = np.atleast_1d(got)[first], np.atleast_1d(expected)[first]
            fail(self.label, rule, f"{np.sum(~right)} other element(s), the first at {first}: {wrong} for {wanted}")
        return True

    def _check_repeats(self, case: TuningCase, name: str, size: int) -> None:
        """Check that runs on floats whose sums are inexact give the same bits."""
        dtype = next((dtype for dtype in case.dtypes if np.dtype(dtype).kind == "f"), None)
        if dtype is None or not self.asked.deterministic:
            return
        shape = self._elements(case, dtype, size).shape
        array = np.random.default_rng(_SEED).standard_normal(shape).astype(dtype)
        results = [self._run(case, array) for _ in range(_RUNS)]
        bits = {result.tobytes() for result in results if result is not None}
        rule = f"the same bits each time{f' ({name})' if name else ''}, or level='none'"
        hold(len(bits) < 2, self.label, rule, f"{len(bits)} results of {_RUNS} runs on {described(array)}")
