"""The public API as a type checker of a user sees it. Pyright and mypy read this file; nothing runs it."""

# pyright: basic, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import numpy as np

import gpuprims
from gpuprims import errors
from gpuprims.models import LogReg, SpamFilter

x = np.arange(12.0).reshape(3, 4)


def primitives() -> tuple[object, ...]:
    """Call each primitive with the keywords of its documentation."""
    return (
        gpuprims.map("2*v + 1", x, out=np.empty_like(x), device="reference", variant="numpy"),
        gpuprims.map(lambda v: v * v, x),
        gpuprims.reduce(x, op="max", axis=(0, 1), keepdims=True, dtype="float32"),
        gpuprims.reduce(x, x, map=lambda a, b: a * b, compensated=True),
        gpuprims.scan(x, op="sum", axis=0, inclusive=False),
        gpuprims.cumsum(x),
        gpuprims.cumprod(x, axis=1),
        gpuprims.compact(x[0], x[0] > 1),
        gpuprims.histogram(x, bins=5, range=(0, 12)),
        gpuprims.bincount(np.array([1, 2, 2]), minlength=4),
        gpuprims.blur(x, "gaussian", sigma=1.5),
        gpuprims.stencil(x, np.ones((3, 3)), mode="wrap"),
        gpuprims.hash_counts([["a", "b"]], n_features=16, analyzer=str.split),
    )


def records() -> None:
    """Use what the library returns by its attributes."""
    plan: gpuprims.Plan = gpuprims.plan("reduce", x, op="sum")
    device: gpuprims.Device = plan.device
    chosen: gpuprims.Variant | None = gpuprims.explain("reduce", device).chosen
    if chosen is not None:
        geometry: gpuprims.Geometry = chosen.geometry
        print(geometry.block, chosen.rank + 1)
    capabilities: gpuprims.Capabilities = device.capabilities
    print(capabilities.name.upper(), [found.spec for found in gpuprims.devices()])
    with gpuprims.use_device("reference"):
        print(plan.item(x))
    add = gpuprims.Op(lambda a, b: a + b, 0, commutative=True)
    try:
        gpuprims.reduce(x, op=add)
    except errors.GpuprimsError as error:
        print(str(error))


def models() -> None:
    """Fit, predict, save and load."""
    model: LogReg = LogReg(C=1.0, solver="lbfgs", backend="reference").fit(x, np.array([0, 1, 1]))
    model.save("model.npz")
    print(LogReg.load("model.npz", backend="reference").predict(x), SpamFilter.load)


def mistakes() -> None:
    """Wrong keywords are errors of the type checkers; an ignore without an error fails."""
    gpuprims.reduce(x, operator="sum")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    gpuprims.scan(x, exclusive=True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
