"""Primitives: loaded when they are first asked for, and brought by installed packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packages import FakePoint, offer, package, run_beside, variant

from gpuprims.core import notices
from gpuprims.core.primitive import Primitive
from gpuprims.core.registry import REGISTRY, Registry
from gpuprims.errors import GpuprimsWarning, RegistryError
from gpuprims.primitives import ROOMS


@pytest.fixture(autouse=True)
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every warning be given again."""
    monkeypatch.setattr(notices, "_given", set())


def double(name: str = "double", rank: Any = 0, **changed: Any) -> Primitive:
    fields = {"primitive": "double", "backend": "reference"} | changed
    return Primitive(name, (variant("numpy", rank, **fields),), plan_call=print, sample=print)


def test_a_primitive_is_loaded_when_it_is_first_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    point = FakePoint("double", "gpuprims.primitives", double())
    offer(monkeypatch, point)
    made = Registry()
    assert made.primitive_names == (*ROOMS, "double")
    assert made.variants("map", "reference")
    assert point.loads == []
    for _ in range(2):
        assert [known.name for known in made.variants("double", "reference")] == ["numpy"]
    assert point.loads == ["double"]


def test_kernels_for_a_primitive_load_it_first(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = [variant("other", 1, primitive="double", backend="reference")]
    offer(
        monkeypatch,
        FakePoint("double", "gpuprims.primitives", double()),
        FakePoint("more", "gpuprims.kernels.reference", kernels),
    )
    assert [known.name for known in Registry().variants("double", "reference")] == ["other", "numpy"]


def test_a_primitive_of_no_package_has_no_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch)
    made = Registry()
    assert made.primitive("double") is None
    assert made.variants("double", "reference") == ()
    with pytest.raises(RegistryError, match=r"a primitive among .*map.*; got 'double'"):
        made.register(variant("x", 1, primitive="double", backend="reference"))


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (5, "a gpuprims.Primitive of that name; got 5"),
        (double("triple"), "a gpuprims.Primitive of that name; got Primitive"),
        (
            Primitive("double", (variant("x", "high", primitive="double"),), print, print),
            "rank of type int; got 'high'",
        ),
        (double(primitive="map"), "a variant of double; got reference map/numpy"),
    ],
)
def test_a_primitive_that_is_none_costs_a_warning(monkeypatch: pytest.MonkeyPatch, found: Any, cause: str) -> None:
    offer(monkeypatch, FakePoint("double", "gpuprims.primitives", found))
    made = Registry()
    with pytest.warns(GpuprimsWarning, match=f"goes on without .*gpuprims.primitives: double = .*: .*{cause}"):
        assert made.variants("double", "reference") == ()
    assert made.primitive("double") is None  # a second warning would be an error
    assert [known.name for known in made.variants("map", "reference")] == ["numpy"]


def test_a_package_cannot_claim_a_primitive_of_this_library(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, FakePoint("scan", "gpuprims.primitives", double("scan")))
    made = Registry()
    with pytest.warns(GpuprimsWarning, match="primitive 'scan': a name claimed once; .* after that of gpuprims itself"):
        assert made.primitive_names == ROOMS
    assert made.primitive("scan") is REGISTRY.primitive("scan")


PACKAGE = """
import numpy as np
from gpuprims import Geometry, Primitive, Variant

def able(capabilities, call): return None

def double_numpy(spec, memories, layout, n):
    "Double every element."
    memories[1][...] = 2 * memories[0]

VARIANT = Variant("double", "numpy", "reference", double_numpy, 0, Geometry(1, 2**62), able)
THING = Primitive("double", (VARIANT,), print, print)
"""
PROGRAM = """
import gpuprims, numpy as np
from gpuprims import CallTraits
device = gpuprims.Device("reference")
chosen = device.select("double", CallTraits((np.dtype("f4"),), 1, 3))
x, y = np.arange(3, dtype="f4"), np.empty(3, "f4")
chosen.source(None, [x, y], None, 3)
print(chosen.label, y.tolist(), chosen.summary)
print(gpuprims.reduce(y, device=device))
"""


def test_a_package_brings_a_primitive(tmp_path: Path) -> None:
    package(tmp_path, "doubles", "[gpuprims.primitives]\ndouble = doubles:THING\n", PACKAGE)
    package(tmp_path, "broken", "[gpuprims.primitives]\nhalf = broken:THING\n", "raise RuntimeError('no half')")
    asks = "from gpuprims.core.registry import REGISTRY\nprint(REGISTRY.variants('half', 'reference'))"
    status, out, warned = run_beside(tmp_path, PROGRAM + asks)
    assert status == 0
    assert out.splitlines() == ["reference double/numpy [0.0, 2.0, 4.0] Double every element.", "6.0", "()"]
    (line,) = warned
    assert "goes on without broken (entry point gpuprims.primitives: half = broken:THING): RuntimeError" in line


def test_a_call_imports_its_own_primitive_alone() -> None:
    code = (
        "import sys, gpuprims; gpuprims.map('x', [1], device='reference');"
        "print(*sorted(name for name in sys.modules if name.endswith('.variants')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["gpuprims.primitives.map.variants"]
