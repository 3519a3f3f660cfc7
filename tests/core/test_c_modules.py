"""Modules in C: compiled beside the calls, kept on disk, and left to Python where that fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from gpuprims.core import c_modules
from gpuprims.core.private_folder import private_folder

TEXT = """
#include <Python.h>
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, .m_name = "answer", .m_size = -1};
PyMODINIT_FUNC PyInit_answer(void) {
    PyObject *module = PyModule_Create(&MODULE);
    if (module) PyModule_AddIntConstant(module, "ANSWER", 42);
    return module;
}
"""
REFUSING = """
#include <Python.h>
PyMODINIT_FUNC PyInit_answer(void) { PyErr_SetString(PyExc_ImportError, "another library"); return NULL; }
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("GPUPRIMS_CACHE_DIR", str(tmp_path / "cache"))
    private_folder.cache_clear()
    if c_modules.why_not() is not None:
        pytest.skip(str(c_modules.why_not()))
    (path := tmp_path / "answer.c").write_text(TEXT)
    yield path
    private_folder.cache_clear()


def used(source: Path) -> list[ModuleType]:
    """Return the modules that are used once no thread compiles."""
    seen: list[ModuleType] = []
    before = set(threading.enumerate())
    c_modules.use_module(source, seen.append)
    for thread in set(threading.enumerate()) - before:
        thread.join()
    return seen


def test_a_module_is_compiled_once(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [module.ANSWER for module in used(source)] == [42]
    monkeypatch.setattr(c_modules, "compiled", lambda source: pytest.fail("compiled again"))
    kept: list[ModuleType] = []
    c_modules.use_module(source, kept.append)  # at once
    assert [module.ANSWER for module in kept] == [42]


@pytest.mark.parametrize("header", ["answer.h", "../answer.h"])
def test_a_module_is_compiled_anew_when_its_header_changes(source: Path, header: str) -> None:
    (source := source.parent / "room" / source.name).parent.mkdir()
    source.write_text(
        TEXT.replace("#include <Python.h>", f'#include <Python.h>\n#include "{header}"').replace("42", "OWN")
    )
    for number in (5, 6, 5):
        (source.parent / header).write_text(f"#define OWN {number}\n")
        assert [module.ANSWER for module in used(source)] == [number]


@pytest.mark.parametrize(("text", "reason"), [("no C", "error"), (REFUSING, "another library")])
def test_a_module_that_fails_says_why(source: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str) -> None:
    monkeypatch.setattr(c_modules, "FAILURES", {})
    source.write_text(text)
    assert used(source) == []
    assert reason in c_modules.FAILURES[source]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("GPUPRIMS_C_MODULES", "off", "GPUPRIMS_C_MODULES is off"),
        ("GPUPRIMS_CACHE_DIR", "off", "no folder keeps them"),
    ],
)
def test_modules_can_be_turned_off(
    source: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, reason: str
) -> None:
    monkeypatch.setenv(name, value)
    private_folder.cache_clear()
    assert c_modules.why_not() == reason
    assert used(source) == []


def test_a_command_that_cannot_be_read_is_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    before = c_modules.compiler()
    monkeypatch.setenv("CC", "gcc 'x")
    assert c_modules.compiler() == before


def test_no_more_threads_is_a_reason(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(c_modules, "FAILURES", {})
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert used(source) == []
    assert "thread" in c_modules.FAILURES[source]


def test_without_a_compiler_nothing_is_compiled(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_modules, "compiler", tuple)
    assert c_modules.why_not() == "no C compiler (cc)"
    assert used(source) == []
