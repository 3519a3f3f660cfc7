"""plan: a call with everything decided but the memory, for hot loops."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from gpuprims.core.device import Device
from gpuprims.core.launch_plan import Prepared, result_forms, target_forms
from gpuprims.core.operands import Operands, as_operands
from gpuprims.core.outputs import check_targets
from gpuprims.errors import ArgumentError, quoted
from gpuprims.primitives.logistic import prepare_logistic
from gpuprims.primitives.map import prepare_map
from gpuprims.primitives.reduce import prepare_reduce
from gpuprims.primitives.scan import prepare_scan

_PREPARE: dict[str, Callable[..., tuple[Operands, Any, Prepared]]] = {
    "map": prepare_map,
    "reduce": prepare_reduce,
    "scan": prepare_scan,
    "logistic": prepare_logistic,
}


class Plan:
    """A call that is traced, typed, compiled and laid out; called with arrays like those it was planned for.

    Made by :func:`gpuprims.plan`.

    Attributes
    ----------
    primitive : str
    device : Device
    variant : Variant
        The kernel that runs.
    """

    def __init__(self, primitive: str, operands: Operands, targets: Any, prepared: Prepared) -> None:
        self.primitive = primitive
        self.device: Device = operands.device
        self.variant = prepared.variant
        self._prepared = prepared
        self._forms = operands.forms
        written = target_forms(operands, targets)
        self._written = result_forms(primitive, prepared.results, written, operands.fresh_alignment)
        self._lock = Lock()
        self._landings: list[tuple[Any, Callable[[], Any]]] = []

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Run on arrays of the planned dtypes, shapes, strides and alignment.

        Parameters
        ----------
        *arrays : array_like
            In the order of the kernel's parameters.
        out : array or tuple of arrays, optional
            Where to write; by default new arrays.

        Raises
        ------
        ArgumentError
            Arrays that are not like those the plan was made for.
        """
        operands = self._operands(arrays)
        targets = None if out is None else operands.targets(out, in_place=self.primitive == "scan")
        if targets is not None:
            check_targets(self.primitive, self._prepared.results, targets.natives)
            forms = target_forms(operands, targets)
            if forms is not None and not _alike(forms, self._written):
                raise ArgumentError(
                    f"plan of {self.primitive}: out= laid out as planned, {_said(self._written)}; got {_said(forms)}"
                )
        return self._prepared.run(operands, targets)

    def _operands(self, arrays: tuple[Any, ...]) -> Operands:
        operands = as_operands(self.primitive, arrays, self.device)
        if operands.forms != self._forms and not _alike(operands.forms, self._forms):
            raise ArgumentError(
                f"plan of {self.primitive}: arrays laid out as planned, {_said(self._forms)}; got"
                f" {_said(operands.forms)} (make a plan for these)"
            )
        return operands

    def item(self, *arrays: Any) -> Any:
        """Run, wait, and return the result as a Python scalar, or a tuple of them.

        Where the device can write to the host's memory the scalar needs no copy of its own, so this is the fastest way
        to a number on the host.

        Raises
        ------
        ArgumentError
            As calling the plan, and for results that are not scalars.
        """
        if any(shape for shape, _ in self._prepared.results):
            shapes = [shape for shape, _ in self._prepared.results]
            raise ArgumentError(f"plan of {self.primitive}: results of shape () for item(); got {shapes}")
        operands = self._operands(arrays)
        if operands.on_host:
            results = self._prepared.run(operands.as_numpy(), None)
            return results.item() if self._prepared.single else tuple(result.item() for result in results)
        with self._lock:  # the plan has one place for each scalar
            landings = self._landings or self._land()
            self._prepared.start(operands, [array for array, _ in landings])
            items = tuple([read() for _, read in landings])
        return items[0] if self._prepared.single else items

    def _land(self) -> list[tuple[Any, Callable[[], Any]]]:
        self._landings = [self.device.driver.scalar(dtype) for _, dtype in self._prepared.results]
        return self._landings

    def __repr__(self) -> str:
        arrays = ", ".join(f"{form.dtype}{list(form.shape)}" for form in self._forms)
        return f"<gpuprims.Plan {self.primitive}/{self.variant.name} of {arrays} on {self.device.spec}>"


def _alike(given: tuple[Any, ...], planned: tuple[Any, ...]) -> bool:
    """Whether a launch for ``planned`` forms serves ``given`` ones: the same, and aligned at least as well."""
    return len(given) == len(planned) and all(
        one[:4] == other[:4] and one.alignment >= other.alignment for one, other in zip(given, planned, strict=True)
    )


def _said(forms: tuple[Any, ...]) -> str:
    return " and ".join(
        f"{form.dtype}{list(form.shape)} with strides {form.strides} at a multiple of {form.alignment} bytes"
        for form in forms
    )


def plan(primitive: str, *arrays: Any, **keywords: Any) -> Plan:
    """Decide everything about a call but the memory.

    A call like ``gpuprims.reduce(x)`` looks its plan up by what it was given, which costs a few microseconds; a loop
    that makes the same call on many arrays keeps the plan instead.

    Parameters
    ----------
    primitive : str
        ``"map"``, ``"reduce"``, ``"scan"`` or ``"logistic"``, a step's loss and gradient, as
        :func:`gpuprims.primitives.logistic.logistic_gradient`.
    *arrays : array_like
        What the call takes, function included; the arrays stand for those of the same dtype, shape, strides and device.
    **keywords
        As of the primitive.

    Returns
    -------
    Plan
        ``plan(*arrays, out=None)`` runs it, and ``plan.item(*arrays)`` gives the result as a Python scalar.

    Raises
    ------
    ArgumentError
        For an unknown primitive, and as the primitive itself.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.arange(5, dtype=np.float32)
    >>> total = gpuprims.plan("reduce", x, op="sum", device="reference")
    >>> total
    <gpuprims.Plan reduce/numpy of float32[5] on reference:0>
    >>> [total.item(x * k) for k in range(3)]
    [0.0, 10.0, 20.0]
    """
    if not isinstance(primitive, str) or primitive not in _PREPARE:  # type: ignore[redundant-expr]  # a list has no hash
        raise ArgumentError(f"plan: a primitive among {', '.join(_PREPARE)}; got {quoted(primitive)}")
    return Plan(primitive, *_PREPARE[primitive](arrays, **keywords))
