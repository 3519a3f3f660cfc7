"""C modules that replace Python functions to save time, on machines with a C compiler.

Like kernels, they are compiled when first needed and kept in the cache on disk. No call waits for the
compiler: until it is done, the functions in Python do the work. A program that ends earlier waits for it, once.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from gpuprims.core import compile_cache
from gpuprims.core.private_folder import private_folder
from gpuprims.core.program_cache import prepare_anew

FAILURES: dict[Path, str] = {}  # why a module is not used, by C file
COMPILING = "gpuprims: compiling C"  # the name of threads that wait for the compiler
# Without errno and traps, roots, floors and choices are computed in vectors.
_OPTIONS = ("-O2", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
_HEADER = Path(sysconfig.get_path("include")) / "Python.h"


def use_module(source: Path, use: Callable[[ModuleType], None]) -> None:
    """Call ``use`` with the module of a C file: now if the cache has it, else from a thread once it is compiled.

    It is never called without a compiler, or if the module does not load.
    """
    if why_not() is not None:
        return
    made_with = (sys.version, np.__version__, platform.machine(), *compiler(), *_OPTIONS)
    key = compile_cache.key_of("c", *made_with, *texts(source))
    if (binary := compile_cache.fetch(key)) is not None:
        _use(source, binary, use)
        return

    def build() -> None:
        try:
            binary = compiled(source)
        except (OSError, subprocess.CalledProcessError) as error:
            FAILURES[source] = str(getattr(error, "stderr", None) or error)
            return
        compile_cache.keep(key, binary)
        _use(source, binary, use)

    try:
        threading.Thread(target=build, name=COMPILING, daemon=True).start()
    except RuntimeError as error:  # no more threads, or the program ends
        FAILURES[source] = str(error)


def _use(source: Path, binary: bytes, use: Callable[[ModuleType], None]) -> None:
    try:
        use(loaded(source.stem, binary))
    except (
        ImportError,
        AttributeError,
        OSError,
    ) as error:  # another library than expected, or no memory for its file
        FAILURES[source] = str(error)


class CModule:
    """The functions of a C file; ``calls`` is None where those in Python serve.

    ``prepare`` gets the module before its first use. Calls that are kept have functions of modules ``in_calls``.
    """

    def __init__(
        self, source: Path, prepare: Callable[[Any], None] = lambda calls: None, *, in_calls: bool = True
    ) -> None:
        self.source, self._prepare, self._in_calls = source, prepare, in_calls
        self.calls: Any = None
        self._asked = False

    def ask(self) -> None:
        """Use the functions from now on, or once the compiler is done; later calls do nothing."""
        if not self._asked:
            self._asked = True
            use_module(self.source, self.use)

    def serves(self, driver: Any) -> Any:
        """Return the functions for a driver's calls, or None; ask for them if it works in the host's memory."""
        if getattr(driver, "wakes_threads", None) is None:
            return None
        self.ask()
        return self.calls

    def use(self, calls: Any) -> None:
        """Use the functions from now on: for calls that are kept, too, because they are forgotten."""
        self._prepare(calls)
        self.calls = calls
        if self._in_calls:
            prepare_anew()

    def said(self) -> str:
        """Return if C or Python does the work, and the reason."""
        if self.calls is not None:
            return "C"
        return f"Python ({why_not() or FAILURES.get(self.source) or 'until the C compiler is done'})"


def why_not() -> str | None:
    """Return the reason why modules in C cannot be compiled; None if they can."""
    if os.environ.get("GPUPRIMS_C_MODULES") == "off":
        return "GPUPRIMS_C_MODULES is off"
    if not hasattr(os, "memfd_create"):
        return "not on Linux"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "Python has no global lock"
    if private_folder("kernels") is None:
        return "no folder keeps them"
    if not _HEADER.is_file():
        return f"{_HEADER} is missing"
    return None if compiler() else "no C compiler (cc)"


def compiler() -> tuple[str, ...]:
    """Return the command of the C compiler that made Python, or of another; nothing if there is none."""
    for asked in (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc", "gcc"):
        try:
            words = shlex.split(asked or "")
        except ValueError:  # a quotation without an end
            continue
        if words and shutil.which(words[0]):
            return tuple(words)
    return ()


def texts(source: Path) -> list[str]:
    """Return the text of a C file, and those of the headers of this package that it includes."""
    text = source.read_text()
    return [text, *((source.parent / name).read_text() for name in re.findall(r'^#include "(.+)"', text, re.MULTILINE))]


def compiled(source: Path) -> bytes:
    """Compile a C file to a module of this Python; raises CalledProcessError with the compiler's log."""
    folder = tempfile.mkdtemp()  # the thread removes it, for which a program that ends waits
    try:
        target = Path(folder) / "module.so"
        headers = (f"-I{_HEADER.parent}", f"-I{np.get_include()}")
        command = [*compiler(), *_OPTIONS, *headers, str(source), "-o", str(target)]
        subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")  # noqa: S603 - the user's own
        return target.read_bytes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def loaded(name: str, binary: bytes) -> ModuleType:
    """Load a module from memory."""
    file = os.memfd_create(name)  # stays open, because the system knows libraries by their paths
    os.write(file, binary)
    path = f"/proc/self/fd/{file}"
    loader = ExtensionFileLoader(name, path)
    module = module_from_spec(ModuleSpec(name, loader, origin=path))
    loader.exec_module(module)
    return module
