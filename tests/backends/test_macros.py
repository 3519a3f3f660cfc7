"""CONTRIBUTING's table of macros is what generated text defines and kernels use."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from kernel_calls import calls

import gpuprims
from gpuprims.cli.kernels import PACKAGE, kernels_of
from gpuprims.cli.text_driver import TextDriver, usual_device
from gpuprims.errors import ArgumentError, NoVariantError

HEADERS = [
    *PACKAGE.glob("backends/*/prelude.c*"),
    *PACKAGE.glob("expressions/*.h"),
    *PACKAGE.glob("core/kernels/*.h"),
    *PACKAGE.glob("primitives/*/kernels/*"),
    *PACKAGE.glob("backends/*/kernels/*"),
]
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINED = re.compile(r"^#define (\w+)|^typedef .*?(\w+);$", re.MULTILINE)


@cache
def generated() -> frozenset[str]:
    """Return what is generated around the kernels of every call, without the files of the package."""
    texts = set()
    for spec in ("cuda", "opencl:cpu"):  # an OpenCL GPU's text has no macro that neither of these has
        for variant in kernels_of(spec.partition(":")[0]):
            for call in calls(variant).values() if variant.path.is_relative_to(PACKAGE) else ():
                driver = TextDriver(spec.partition(":")[0], usual_device(spec.partition(":")[2], 32))
                try:
                    call(device=gpuprims.Device._of(driver), variant=variant.name)
                except (ArgumentError, NoVariantError):  # some variants refuse a call
                    continue
                texts |= {text for _, text in driver.texts}
    files = sorted((path.read_text() for path in HEADERS), key=len, reverse=True)
    return frozenset(_without(text, files) for text in texts)


def _without(text: str, files: list[str]) -> str:
    for file in files:
        text = text.replace(file, "")
    return text


def defined() -> set[str]:
    """Return the macros and types of generated text; functions have the prefix gp_."""
    names = {found[1] or found[2] for text in generated() for found in DEFINED.finditer(text)}
    return {name for name in names if not name.startswith("gp_")}


def tabled() -> list[str]:
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text()
    rows = text.partition("| macro | meaning |")[2].partition("\n\n")[0].splitlines()[2:]
    return [found[1] for row in rows for found in re.finditer(r"`(\w+)[^`]*`", row.split(" | ")[0])]


def test_the_table_has_every_macro_once() -> None:
    assert sorted(tabled()) == sorted(defined() - {"mask_t"})  # which generated text alone uses


def test_kernels_use_every_macro() -> None:
    words = {word for path in HEADERS for word in re.findall(r"\w+", COMMENT.sub("", path.read_text()))}
    assert set(tabled()) - words == {"ELEMENT_ROW"}  # which generated text alone uses


def test_helpers_of_headers_have_one_name_each() -> None:
    homes: dict[str, set[Path]] = {}
    for path in [*PACKAGE.glob("core/kernels/*.h"), *PACKAGE.glob("primitives/*/kernels/*")]:
        for name in re.findall(r"^DEVICE [^;{(]*?(\w+)\(", path.read_text(), re.MULTILINE):
            homes.setdefault(name, set()).add(path)
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}
    assert [name for name, (path, *_) in homes.items() if path.suffix == ".h" and not name.startswith("gp_")] == []
    written = {name for text in generated() for name in re.findall(r"^DEVICE [^;{(]*?(\w+)\(", text, re.MULTILINE)}
    assert [name for name in written if not name.startswith("gp_") or name in homes] == []


def test_no_variable_has_the_name_of_a_type_of_opencl() -> None:
    """CUDA and CPUs of other languages allow them; OpenCL's compilers do not."""
    named = re.compile(r"\b(?:int|i64|u32|u64|value_t) (?:const )?(half|uchar|ushort|uint|ulong|event_t)\b")
    found = {path.name: named.findall(COMMENT.sub("", path.read_text())) for path in HEADERS}
    assert {name: names for name, names in found.items() if names} == {}
