"""The works by pyopencl's arrays and generated kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpuprims


def pyopencl(device: gpuprims.Device) -> dict[str, Callable[..., Any]]:
    import mako  # noqa: F401 - its reductions need mako, and would fail late
    import pyopencl as cl
    import pyopencl.array as cl_array
    from pyopencl.algorithm import copy_if
    from pyopencl.scan import GenericScanKernel

    def scan(dtype: str, expression: str, neutral: str, stored: str = "item") -> Callable[..., Any]:
        word = cl.tools.dtype_to_ctype(dtype)
        kernel: Any = None
        driver: Any = device.driver

        def run(x: Any) -> Any:
            nonlocal kernel
            kernel = kernel or GenericScanKernel(
                driver.context, dtype, f"__global {word} *x, __global {word} *y",
                input_expr="x[i]", scan_expr=expression, neutral=neutral, output_statement=f"y[i] = {stored};",
            )  # fmt: skip
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
