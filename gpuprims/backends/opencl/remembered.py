"""Results of trials of devices, kept on disk: a JSON file for each device and driver.

The first process that finishes a trial decides for all others.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

import pyopencl as cl

from gpuprims.core.notices import warn_once
from gpuprims.core.private_folder import private_folder


@dataclass(frozen=True)
class Finding:
    """A device and driver with a kept result."""

    platform: str
    device: str
    driver: str
    compute_units: int

    @classmethod
    def of(cls, device: cl.Device) -> Finding:
        """Return the description of a device and its driver's version."""
        driver = f"{device.platform.version.strip()}, {device.driver_version.strip()}"
        return cls(device.platform.name.strip(), device.name.strip(), driver, device.max_compute_units)

    @property
    def path(self) -> Path | None:
        """The file of the result; None if nothing can be kept on disk."""
        folder = private_folder("devices")
        key = sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:32]
        return None if folder is None else folder / f"{key}.json"


def kept(finding: Finding) -> bool | None:
    """Return the answer of a trial; None without a readable file."""
    path = finding.path
    if path is None or not path.exists():
        return None
    try:
        with path.open(encoding="utf-8") as file:
            found = json.loads(file.read(65536))  # a JSONDecodeError and a UnicodeDecodeError are ValueErrors
        if not isinstance(found, dict) or found.get("about") != asdict(finding):
            raise ValueError("it is about another device")
        if not isinstance(found.get("together"), bool):
            raise ValueError("it has no answer")
        return bool(found["together"])
    except (OSError, ValueError, RecursionError) as error:
        warn_once(f"gpuprims tries {finding.device} again: {path} cannot be read ({str(error)[:200]})")
        if path.is_file():
            path.unlink(missing_ok=True)
        return None


def keep(finding: Finding, together: bool) -> bool:
    """Write an answer, unless another process already has; return the answer in the file."""
    path = finding.path
    if path is None:
        return together
    text = json.dumps({"about": asdict(finding), "together": together}, indent=1)
    try:
        with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".part") as file:
            file.write(text)
            file.flush()
            os.link(file.name, path)  # fails if the file exists; no process sees half of it
    except FileExistsError:
        found = kept(finding)
        return together if found is None else found
    except OSError as error:
        warn_once(f"gpuprims tries {finding.device} in each process, because it cannot write {path} ({error})")
    return together
