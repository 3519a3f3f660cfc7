"""Variants, backends and entry points for tests of the registry, and packages as pip installs them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims.core import device, plugins
from gpuprims.core.geometry import Geometry
from gpuprims.core.registry import Registry
from gpuprims.core.traits import CallTraits
from gpuprims.core.variant import Explanation, Variant

CALL = CallTraits((np.dtype(np.float32),), 100)
ABLE = gpuprims.Device("reference").capabilities
ROOT = Path(__file__).parents[1]


def refusing(reason: str | None) -> Callable[..., str | None]:
    return lambda capabilities, call: reason


def compute(*given: Any) -> None:
    raise AssertionError("kernels of these tests are not run")


def variant(name: str, rank: int, reason: str | None = None, **more: Any) -> Variant:
    own: dict[str, Any] = {"primitive": "map", "backend": "fake", "source": compute, "geometry": Geometry(1, 1)}
    return Variant(name=name, rank=rank, refuse=refusing(reason), **(own | more))


@dataclass
class FakeBackend:
    """A backend without devices."""

    name: str = "fake"
    variants: Sequence[Variant] = ()
    array_library: str | None = None
    dlpack_device: int | None = None

    def from_dlpack(self, array: Any) -> Any:
        return array

    def drivers(self) -> Sequence[Any]:
        return ()

    def driver_of(self, array: Any) -> None:
        return None


@dataclass
class FakePoint:
    """An entry point that counts how often it is loaded."""

    name: str
    group: str
    loaded_value: Any = None
    value: str = "some.package:THING"
    loads: list[str] = field(default_factory=list)
    dist: Any = None

    def load(self) -> Any:
        self.loads.append(self.name)
        return self.loaded_value


class FakeDriver:
    """A device of the backend ``fake``, which runs nothing."""

    backend, index, capabilities = "fake", 0, ABLE


DEVICE = gpuprims.Device._of(FakeDriver())  # type: ignore[arg-type]  # it has no memory


def select(of: Registry, name: str | None = None) -> Variant:
    """Return the variant of a registry that a map on the device ``fake`` would run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "REGISTRY", of)
        return DEVICE.select("map", CALL, name)


def explain(of: Registry) -> Explanation:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "REGISTRY", of)
        return DEVICE.explain("map", CALL)


def offer(monkeypatch: pytest.MonkeyPatch, *points: FakePoint) -> None:
    """Make these the entry points of all installed packages."""
    monkeypatch.setattr(
        plugins, "select_in", lambda path: lambda group: [point for point in points if point.group == group]
    )


def register(into: Registry, *variants: Variant) -> None:
    for each in variants:
        into.register(each)


def package(folder: Path, name: str, points: str, code: str = "") -> None:
    """Install a package as pip does: a module and its metadata."""
    told = folder / f"{name}-1.0.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text(points)
    (folder / f"{name}.py").write_text(code)


def run_beside(folder: Path, code: str) -> tuple[int, str, list[str]]:
    """Run a program beside packages; return its exit status, what it printed, and the warnings."""
    path = os.pathsep.join([str(folder), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "GPUPRIMS_TUNING": "off"}
    command = [sys.executable, "-W", "default", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, [line for line in done.stderr.splitlines() if "GpuprimsWarning" in line]
