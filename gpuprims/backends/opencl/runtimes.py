"""Find OpenCL drivers: the system's, and Intel's CPU runtime if its wheel is installed.

The wheel's driver file contains a path of the machine that built it, so loaders do not find the library. The file list
of the installed package has its path. A folder for ``OCL_ICD_VENDORS`` lists it beside the system's drivers. The loader
reads the variable once, at the first platform query. ``putenv`` sets it for that query only, because other threads read
``os.environ``. The folder is not removed, because programs that start meanwhile inherit the variable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from tempfile import TemporaryDirectory

import pyopencl as cl

from gpuprims.backends.opencl.pocl import give_pocl_a_folder
from gpuprims.core.notices import warn_once
from gpuprims.core.private_folder import private_folder, write_atomically
from gpuprims.errors import BackendUnavailableError

_INTEL_WHEEL, _INTEL_LIBRARY = "intel-opencl-rt", "libintelocl.so"
_VARIABLE = "OCL_ICD_VENDORS"
# Folders whose driver files the loader reads by default: the system's, and that of pyopencl's wheels.
_DEFAULT_FOLDERS = Path("/etc/OpenCL/vendors"), Path(cl.__file__).parent / ".libs"


def devices() -> list[cl.Device]:
    """List the devices of all OpenCL platforms; raise BackendUnavailableError if there is no driver."""
    give_pocl_a_folder()
    try:
        with _embedded_runtime_offered():
            platforms = cl.get_platforms()
    except cl.LogicError as error:
        raise BackendUnavailableError("opencl", *_reason_and_remedy(error)) from error
    found: list[cl.Device] = []
    for platform in platforms:
        with suppress(cl.RuntimeError):  # DEVICE_NOT_FOUND: a driver whose hardware is absent
            found += platform.get_devices()
    return found


def _reason_and_remedy(error: cl.Error) -> tuple[str, str]:
    if folder := os.environ.get(_VARIABLE):
        return f"{_VARIABLE}={folder} offers no OpenCL driver ({error})", f"unset {_VARIABLE}"
    if embedded_library() is not None:
        reinstall = "pip install --force-reinstall intel-opencl-rt intel-cmplr-lib-rt"
        return f"{_INTEL_WHEEL} is installed, but does not load ({error})", reinstall
    return f"no OpenCL driver on this machine ({error})", "pip install 'gpuprims[cpu]'"


def embedded_library() -> Path | None:
    """Return the path of Intel's CPU runtime, or None if its wheel is not installed."""
    try:
        listed = files(_INTEL_WHEEL) or []
    except PackageNotFoundError:
        return None
    return next((Path(str(f.locate())).resolve() for f in listed if f.name == _INTEL_LIBRARY), None)


@contextmanager
def _embedded_runtime_offered() -> Iterator[None]:
    """Make Linux's loader list the system's drivers and Intel's, unless the user chose a folder."""
    library = embedded_library()
    if library is None or not sys.platform.startswith("linux") or _VARIABLE in os.environ:
        yield
        return
    listed = {path.name: path.read_text() for folder in _DEFAULT_FOLDERS for path in sorted(folder.glob("*.icd"))}
    listed["gpuprims-intel.icd"] = f"{library}\n"
    with ExitStack() as opened:
        try:
            folder = private_folder("drivers")
            if folder is None:
                offered = Path(opened.enter_context(TemporaryDirectory(prefix="gpuprims-icd-")))
            else:
                offered = folder / sha256(repr(sorted(listed.items())).encode()).hexdigest()[:16]
            _write(listed, offered)
        except OSError as error:  # the disk is full, or no folder is writable
            warn_once(f"OpenCL: a folder to list drivers in; got none ({error}), so only Intel's CPU runtime is found")
            offered = library  # loaders accept a library, too
        os.putenv(_VARIABLE, str(offered))
        try:
            yield
        finally:
            os.unsetenv(_VARIABLE)


def _write(listed: dict[str, str], folder: Path) -> None:
    """Write files that are missing or different to a folder."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, text in listed.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != text.encode():
            write_atomically(path, text.encode())
