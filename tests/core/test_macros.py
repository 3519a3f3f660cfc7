"""CONTRIBUTING lists the macros and types that generated text defines."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
from kernel_calls import IdleKernel, calls

import gpuprims
from gpuprims.cli.kernels import TextDriver, _driver
from gpuprims.core.codegen import kernel_source
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, NoVariantError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
TABLE = PAGE[PAGE.index("| kernels | macro |") :].partition("\n\n")[0]
ROWS = re.findall(r"^\|[^|]*\| (.*?) \| .* \|$", TABLE, re.MULTILINE)
LISTED = {name for row in ROWS for name in re.findall(r"`(\w+)", row)} | {f"STRIDE_{k}" for k in range(5)}
DEFINED = re.compile(r"^#define (\w+)|^typedef .*?(\w+);$", re.MULTILINE)
HEADERS = [*(ROOT / "gpuprims" / "expressions").glob("*.h"), ROOT / "gpuprims" / "core" / "kernels" / "shuffling.h"]


class SpecDriver(TextDriver):
    """Collect the specs that kernels are built with."""

    def __init__(self, like: TextDriver) -> None:
        super().__init__(like.backend, like.capabilities)
        self.specs: list[KernelSpec] = []

    def build(self, variant: Variant, spec: KernelSpec) -> Any:
        self.specs.append(spec)
        return IdleKernel(spec)


def names_of(text: str) -> set[str]:
    return {name for found in DEFINED.findall(text) for name in found if name}


def generated(spec: KernelSpec, empty: Path) -> set[str]:
    """Return the names that the text around an empty kernel defines, apart from those of header files."""
    shared = {name for path in (*HEADERS, *spec.headers()) for name in names_of(path.read_text())}
    own = {re.split(r"\W", name)[0] for name in spec.macros()}
    return names_of(kernel_source(spec, empty, empty, 1, 1, 1)) - shared | own


def specs_of(name: str, *, whole: bool) -> list[KernelSpec]:
    driver = SpecDriver(_driver(name, 32))
    variants = [own for primitive in REGISTRY.primitive_names for own in REGISTRY.variants(primitive, driver.backend)]
    for variant in variants:
        for call in list(calls(variant).values())[: None if whole else 2]:
            with contextlib.suppress(ArgumentError, NoVariantError):  # variants for other devices
                call(device=gpuprims.Device._of(driver), variant=variant.name)
    return driver.specs


def test_contributing_lists_the_macros(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    empty = tmp_path / "empty"
    empty.write_text("")
    whole = pytestconfig.getoption("whole")
    specs = [spec for name in ("cuda", "opencl:gpu", "opencl:cpu") for spec in specs_of(name, whole=whole)]
    found = {name for spec in specs for name in generated(spec, empty)}
    assert sorted(found - LISTED) == []
    if whole:
        texts = {name for spec in specs for name in names_of(kernel_source(spec, empty, empty, 1, 1, 1))}
        assert sorted(LISTED - texts) == []
