"""The namespace that array-api-tests runs on: the functions of ``gpuprims.xp``, and NumPy's arrays and other names.

https://github.com/data-apis/array-api-tests asks a namespace for an array class, dtypes and functions that create
arrays. NumPy's follow the standard, and ``gpuprims.xp`` takes its arrays. docs/guide/array-api.md has the command.

The device is the first that ``GPUPRIMS_TEST_DEVICES`` names, or the reference. With ``GPUPRIMS_TEST_KERNELS=1``,
kernels compute the suite's small arrays, which NumPy would compute otherwise.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import gpuprims
from gpuprims import xp
from gpuprims.core.by_numpy import Switch

__array_api_version__ = "2024.12"
__array_namespace_info__ = np.__array_namespace_info__

_DEVICE = gpuprims.Device(os.environ.get("GPUPRIMS_TEST_DEVICES", "reference").split(",")[0])


def _on_device(name: str) -> Any:
    """Return a function of ``gpuprims.xp`` that computes NumPy's arrays on the device."""
    function = getattr(xp, name)

    def call(*given: Any, **keywords: Any) -> Any:
        with gpuprims.use_device(_DEVICE):
            return function(*given, **keywords)

    call.__name__, call.__wrapped__ = name, function  # type: ignore[attr-defined]  # the signature that tools show
    return call


globals().update({name: _on_device(name) for name in xp.__all__})
if os.environ.get("GPUPRIMS_TEST_KERNELS") == "1":
    Switch.on = False


def __getattr__(name: str) -> Any:
    return getattr(np, name)
