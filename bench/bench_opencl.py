"""OpenCL beside NumPy, SciPy and OpenCV (on a CPU) and pyopencl's own arrays: ``pytest bench/bench_opencl.py``.

``GPUPRIMS_BENCH_DEVICE`` names another OpenCL device than the first one. OpenCV is measured where it is installed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from cases import CROSS, Contender, Work, cases, find_device, from_numpy, variants

DEVICE = find_device(os.environ.get("GPUPRIMS_BENCH_DEVICE", "opencl"))
if isinstance(DEVICE, str):
    pytest.skip(DEVICE, allow_module_level=True)


def peers() -> dict[str, Callable[..., Any]]:
    """Return the vendor library's own way of each work."""
    import pyopencl as cl
    import pyopencl.array as cl_array
    from pyopencl.algorithm import copy_if
    from pyopencl.scan import GenericScanKernel

    def scan(dtype: str, expression: str, neutral: str, stored: str = "item") -> Callable[..., Any]:
        word = cl.tools.dtype_to_ctype(dtype)
        kernel = GenericScanKernel(
            DEVICE.driver.context, dtype, f"__global {word} *x, __global {word} *y",
            input_expr="x[i]", scan_expr=expression, neutral=neutral, output_statement=f"y[i] = {stored};",
        )  # fmt: skip

        def run(x: Any) -> Any:
            kernel(x, y := cl_array.empty_like(x))
            return y

        return run

    def kept(x: Any) -> Any:
        found, count, _ = copy_if(x, "ary[i] > 0.5f")
        return found[: int(count.get())]

    return {
        "map 2*x+1": lambda x: 2 * x + 1,
        "reduce sum": cl_array.sum,
        "reduce max": cl_array.max,
        "scan sum": scan("float32", "a + b", "0"),
        "scan sum, exclusive": scan("float32", "a + b", "0", "prev_item"),
        "scan max": scan("float32", "fmax(a, b)", "-INFINITY"),
        "scan sum of float64": scan("float64", "a + b", "0"),
        "scan sum of int32": scan("int32", "a + b", "0"),
        "compact by a function": kept,
    }


def opencvs() -> dict[str, Callable[..., Any]]:
    """Return OpenCV's way of blurs, with borders that go on with the last pixel."""
    try:
        import cv2
    except ImportError:
        return {}
    edge = cv2.BORDER_REPLICATE
    return {
        "blur cross": lambda x: cv2.filter2D(x, -1, CROSS, borderType=edge),
        "blur box 9": lambda x: cv2.blur(x, (9, 9), borderType=edge),
        "blur gaussian 2": lambda x: cv2.GaussianBlur(x, (17, 17), 2, borderType=edge),
        "blur cross of bytes": lambda x: cv2.filter2D(x, -1, CROSS, borderType=edge),
    }


PEERS, OPENCVS = peers(), opencvs()


def contenders(work: Work, size: int) -> list[Contender]:
    found = [*variants(DEVICE, work, size), from_numpy(DEVICE, work)]
    if work.name in PEERS:
        found.append(Contender("pyopencl", PEERS[work.name]))
    if DEVICE.capabilities.kind == "cpu":
        found.append(Contender("SciPy" if work.primitive == "blur" else "NumPy", work.numpy, on_host=True))
        if work.name in OPENCVS:
            found.append(Contender("OpenCV", OPENCVS[work.name], on_host=True))
    return found


def bench_opencv_is_there() -> None:
    if not OPENCVS:
        pytest.skip("OpenCV is not measured: cv2 is not installed")


@pytest.mark.parametrize(("size", "work", "contender"), cases(DEVICE, contenders))
def bench_opencl(measure: Callable[..., None], size: int, work: Work, contender: Contender) -> None:
    measure(DEVICE, size, work, contender)
