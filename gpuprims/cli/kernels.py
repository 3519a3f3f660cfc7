"""``gpuprims kernels``: list the kernels, show the text that a compiler gets, write the backends' pages."""

from __future__ import annotations

import argparse
import ast
import importlib
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gpuprims
from gpuprims.cli.arguments import Subparsers, add_command, add_device, count
from gpuprims.cli.terminal import show, table
from gpuprims.cli.text_driver import TextDriver, usual_device
from gpuprims.core.device import Device, devices
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, BackendUnavailableError, UnknownDeviceError, did_you_mean, quoted
from gpuprims.primitives import ROOMS

if TYPE_CHECKING:
    from rich.table import Table

PACKAGE = Path(gpuprims.__file__).parent
BACKENDS = {"cuda": "CUDA", "opencl": "OpenCL"}
# The calls that `show` compiles for by default, by primitive or by kernel.
CALLS = {
    "philox": "random(7, {size}, dtype={dtype})",
    "map": "map('2*x + 1', {dtype}[{size}])",
    **dict.fromkeys(("map/tile", "map/cpu_blocks"), "map('x + y', {dtype}[{rows}, 16], {dtype}[16, {rows}].T)"),
    "map/shifted": "map('2*x + 1', {dtype}[{rows}, 17][:, 1:])",
    "reduce": "reduce({dtype}[{size}], op={op})",
    "reduce/staged": "reduce({dtype}[{rows}, 17], op={op}, axis=1)",
    "reduce/rows": "reduce({dtype}[{rows}, 16], op={op}, axis=1)",
    **dict.fromkeys(
        ("reduce/each", "reduce/cpu_columns", "reduce/cpu_fixed_columns", "reduce/cpu_exact_columns"),
        "reduce({dtype}[16, {rows}], op={op}, axis=0)",
    ),
    "reduce/fixed_columns": "reduce({dtype}[100, {rows}], op={op}, axis=0, determinism=device)",
    "reduce/fixed_few": "reduce({dtype}[{rows}, 16], op={op}, axis=1, determinism=device)",
    "reduce/cpu_best": "reduce({dtype}[{size}], op=argmax)",
    "scan": "scan({dtype}[{size}], op={op})",
    "scan/rows": "scan({dtype}[{rows}, 16], op={op}, axis=1)",
    "scan/columns": "scan({dtype}[256, {rows}], op={op}, axis=0)",
    "scan/column_runs": "scan({dtype}[{rows}, 32], op={op}, axis=0)",
    **dict.fromkeys(
        ("scan/each", "scan/cpu_columns", "scan/cpu_fixed_columns"), "scan({dtype}[16, {rows}], op={op}, axis=0)"
    ),
    "scan/fixed_rows": "scan({dtype}[{rows}, 16], op={op}, axis=1, determinism=device)",
    "scan/fixed_columns": "scan({dtype}[{rows}, 32], op={op}, axis=0, determinism=device)",
    "scan/queues": "scan({dtype}[{long}], op={op})",
    "scan/fixed_queues": "scan({dtype}[{long}], op={op}, determinism=device)",
    "segments": "reduce({dtype}[{size}], op={op}, segments=range(0, {end}, {step}))",
    **dict.fromkeys(
        ("segments/fixed_tiles", "segments/cpu_tiles"),
        "reduce({dtype}[{size}], op={op}, segments=range(0, {end}, {step}), determinism=device)",
    ),
    "segscan": "scan({dtype}[{size}], op={op}, segments=range(0, {end}, {step}))",
    "compact": "compact({dtype}[{size}], bool[{size}])",
    "rle": "encode_runs({dtype}[{size}], lengths=True)",
    "take": "take({dtype}[{size}], int64[{size}])",
    "searchsorted": "searchsorted({dtype}[{size}], {dtype}[{size}])",
    "merge": "merge({dtype}[{size}], {dtype}[{size}])",
    "histogram": "histogram({dtype}[{size}], 256, (0, 256))",
    "histogram/cpu_exact": "histogram({dtype}[{size}], 256, (0, 256), weights={dtype}[{size}], determinism=device)",
    "histogram/bytes": "histogram(uint8[{size}], 256, (0, 256))",
    "histogram/packed": "histogram2d({dtype}[{size}], {dtype}[{size}], 256, ((0, 9), (0, 9)))",
    "histogram/partitioned": "histogram({dtype}[{size}], 262144, (0, 1000000))",
    "stencil": "stencil({dtype}[{rows}, 16], [[1, 2, 1], [2, 3, 2], [1, 1, 2]])",
    "stencil/columns": "stencil({dtype}[{rows}, 16], [[1], [2], [1]])",
    "stencil/separable": "blur({dtype}[{rows}, 16], box, size=21)",
    "stencil/volumes": f"stencil({{dtype}}[{{rows}}, 4, 4], {[[[0.008] * 5] * 5] * 5})",
    "stencil/long_rows": "stencil({dtype}[{size}], [1, 2, 3, 4, 5, 4, 3, 2, 1])",
    "stencil/cpu_long_rows": "stencil({dtype}[{size}], [1, 2, 3, 4, 5, 4, 3, 2, 1])",
    **dict.fromkeys(("sort/cpu_rows", "sort/places", "sort/lanes", "sort/rows"), "sort({dtype}[{rows}, 16])"),
    "top_k": "top_k({dtype}[{size}], 10)",
    **dict.fromkeys(("top_k/rows", "top_k/lanes"), "top_k({dtype}[{rows}, 16], 4, axis=1)"),
    "selection": "median({dtype}[{size}])",
    **dict.fromkeys(
        ("selection/cpu_rows", "selection/lanes", "selection/sorted"), "median({dtype}[{rows}, 16], axis=1)"
    ),
    "logistic": "logistic_gradient({dtype}[{rows}, 16], {dtype}[{rows}], {dtype}[16])",
    "logistic/cpu_fixed_point": "logistic_gradient(int8[{rows}, 16], {dtype}[{rows}], {dtype}[16])",
    "logistic/fixed_point": "logistic_gradient(int8[{rows}, 16], {dtype}[{rows}], {dtype}[16])",
    "descent": "logistic_descent({dtype}[500, 8], {dtype}[500], {dtype}[9], rate=0.1, steps=3)",
    "newton": "logistic_newton({dtype}[9, 500, 8], {dtype}[9, 500])",
    "sgd": "logistic_sgd({dtype}[{rows}, 16], {dtype}[{rows}], {dtype}[17], int32[900], rate=[0.1], keep=0.9)",
    "hogwild": "logistic_hogwild({dtype}[500, 8], {dtype}[500], {dtype}[9], int32[900], rate=[0.1], keep=0.9)",
    "csr": "csr_product({dtype}[{size}], int32[{size}], range(0, {end}, {step}), {dtype}[16])",
}


_LISTED = [
    ("gpuprims kernels", "every kernel, in a sentence"),
    ("gpuprims kernels list --device cuda", "those of CUDA"),
    ("gpuprims kernels show reduce/warp", "the text that the compiler gets"),
]
_SHOWN = [
    ("gpuprims kernels show reduce", "the kernel that a sum of 2^20 float32 runs"),
    ("gpuprims kernels show reduce/warp --device cuda", "another one, as NVRTC gets it"),
    ("gpuprims kernels show scan --call 'scan(float64[9, 30], axis=1)'", ""),
]
_PAGED = [("gpuprims kernels page opencl", "from the headers of the kernel files; prints the path")]


def add_parser(commands: Subparsers) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "kernels", "list the kernels, or show the text that a compiler gets", examples=_LISTED
    )
    actions = parser.add_subparsers(dest="action", title="actions", metavar="ACTION")
    listed = add_command(actions, "list", "list the kernels of a device's backend, or all (default)", examples=_LISTED)
    shown = add_command(
        actions, "show", "print the text of a kernel, complete as the compiler gets it",
        about="Needs no GPU: for an absent device, the text is that for a typical one.", examples=_SHOWN,
    )  # fmt: skip
    paged = add_command(actions, "page", "write the page KERNELS.md of a backend", examples=_PAGED)
    add_device(listed, "all backends")
    add_device(shown)
    shown.add_argument("kernel", help="such as reduce/warp; reduce alone is the kernel that the call would run")
    shown.add_argument("--call", help='such as "reduce(float32[1000000], op=max)" (default: a usual one)')
    shown.add_argument("--dtype", default="float32", help="dtype of the usual call's elements")
    shown.add_argument("--size", type=count, metavar="N", default="2^20", help="elements of the usual call")
    shown.add_argument("--op", default="sum", help="operator of the usual call")
    shown.add_argument("--warp", type=count, metavar="N", default="32", help="lanes of a warp, for an absent GPU")
    paged.add_argument("backend", choices=BACKENDS)


def run(chosen: argparse.Namespace) -> int:
    """Print a list or a text, or write a page."""
    if chosen.action in (None, "list"):
        show(list_of(getattr(chosen, "device", None)))
    elif chosen.action == "page":
        page_path(chosen.backend).write_text(page_of(chosen.backend))
        print(page_path(chosen.backend))
    else:
        call = usual_call(chosen.kernel, chosen.dtype, chosen.size, chosen.op) if chosen.call is None else chosen.call
        driver = _driver(chosen.device or next((one.spec for one in devices()), "cuda"), chosen.warp)
        texts = texts_of(chosen.kernel, call, driver)
        print(f"{call} on {driver.capabilities.name}", file=sys.stderr)
        for number, text in enumerate(texts, 1):
            print(text if len(texts) == 1 else f"/* text {number} of {len(texts)} */\n{text}")
    return 0


def kernels_of(backend: str) -> list[Variant]:
    """Return a backend's kernels that are compiled from a file, best first for each primitive."""
    known = [variant for primitive in REGISTRY.primitive_names for variant in REGISTRY.variants(primitive, backend)]
    return [variant for variant in known if isinstance(variant.source, Path)]


def list_of(spec: str | None) -> Table:
    """Return a table of the kernels of a device's backend, or of all backends."""
    backends = tuple(BACKENDS) if spec is None else (spec.partition(":")[0].lower(),)
    rows: dict[str, tuple[list[str], Variant]] = {}
    for backend in backends:
        for variant in kernels_of(backend):
            rows.setdefault(f"{variant.primitive}/{variant.name}", ([], variant))[0].append(backend)
    cells = ((name, ", ".join(on), variant.summary) for name, (on, variant) in rows.items())
    return table(("kernel", "backends", "what it does"), cells, fold=("what it does",))


def page_path(backend: str) -> Path:
    """Return where a backend's page lies."""
    return PACKAGE / "backends" / backend / "KERNELS.md"


def page_of(backend: str) -> str:
    """Return a backend's page: a line for each kernel that it runs, shared or its own."""
    (other,) = (name for name in BACKENDS if name != backend)
    others = {variant.source for variant in kernels_of(other)}
    own = [variant for variant in kernels_of(backend) if variant.path.is_relative_to(PACKAGE)]
    shared = [variant for variant in own if variant.source in others]
    alone = [variant for variant in own if variant.source not in others]
    lines = [
        f"# Kernels of the {BACKENDS[backend]} backend",
        "",
        f"`gpuprims kernels page {backend}` writes this page. "
        f"`gpuprims kernels show {shared[0].primitive}/{shared[0].name} --device {backend}` prints a kernel's text, "
        "complete as the compiler gets it.",
    ]
    for title, variants in ((f"Shared with {BACKENDS[other]}", shared), (f"{BACKENDS[backend]} alone", alone)):
        listed = [_line(variant, page_path(backend).parent) for variant in variants]
        lines += ["", f"## {title}", "", *(listed or ["None."])]
    return "\n".join([*lines, ""])


def _line(variant: Variant, folder: Path) -> str:
    link = Path(os.path.relpath(variant.path, folder)).as_posix()
    return f"- [{variant.primitive}/{variant.name}]({link}): {variant.summary}"


def usual_call(kernel: str, dtype: str, size: int, op: str) -> str:
    """Return the call that `show` compiles a kernel for by default."""
    primitive = kernel.partition("/")[0]
    if primitive not in REGISTRY.primitive_names:
        known = ", ".join(REGISTRY.primitive_names)
        hint = did_you_mean(primitive, REGISTRY.primitive_names)
        raise ArgumentError(f"kernels: a primitive among {known}; got {quoted(primitive)}{hint}")
    step = math.gcd(size, 32)
    names = {
        "dtype": dtype,
        "size": size,
        "long": size << 5,
        "rows": max(size // 16, 1),
        "end": size + 1,
        "step": step,
        "op": op,
    }
    return CALLS.get(kernel, CALLS.get(primitive, f"{primitive}({{dtype}}[{{size}}])")).format(**names)


def texts_of(kernel: str, call: str, driver: TextDriver) -> list[str]:
    """Return the texts that a device's compiler gets for a kernel in a call; several if the call compiles it often.

    ``kernel`` is such as ``reduce/warp``, or ``reduce`` for the kernel that the call runs. ``call`` is Python, but
    ``float32[1000, 3]`` is an array, and other names are strings.
    """
    primitive, _, name = kernel.partition("/")
    function, arguments, keywords = _parsed(call)
    if name:
        keywords["variant"] = name
    function(*arguments, **keywords, device=Device._of(driver))
    texts = [text for variant, text in driver.texts if variant.primitive == primitive]
    if not texts:
        raise ArgumentError(f"kernels: a call that runs {kernel}; got {quoted(call)}")
    return list(dict.fromkeys(texts))


def _parsed(call: str) -> tuple[Any, list[Any], dict[str, Any]]:
    """Return the function, arguments and keywords of a call."""
    try:
        node = ast.parse(call, mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError("no call")
        arguments = [_value(one) for one in node.args]
        keywords = {str(one.arg): _value(one.value) for one in node.keywords}
    except (SyntaxError, TypeError, ValueError) as error:
        raise ArgumentError(f"kernels: a call such as 'reduce(float32[1000], op=max)'; got {quoted(call)}") from error
    return _function(node.func.id), arguments, keywords


def _function(name: str) -> Any:
    """Return a public function, or one of a primitive's package."""
    installed = None if name in ROOMS else REGISTRY.primitive(name)
    if installed is not None and installed.case is not None:
        return installed.case.function
    homes = [gpuprims, *(importlib.import_module(f"gpuprims.primitives.{room}") for room in ROOMS)]
    found = next((getattr(home, name) for home in homes if callable(getattr(home, name, None))), None)
    if found is None:
        raise ArgumentError(f"kernels: a function of gpuprims or a primitive with a tuning case; got {quoted(name)}")
    return found


def _value(node: ast.expr) -> Any:
    """Return an argument: zeros for ``float32[9, 5]``, its ``.T`` or ``[:, 1:]``, a name's text, a literal's value."""
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return _value(node.value).T
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return np.zeros(ast.literal_eval(node.slice), np.dtype(node.value.id))
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        return _value(node.value)[tuple([_slice(one) for one in node.slice.elts])]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        return np.arange(*map(ast.literal_eval, node.args))
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def _slice(node: ast.expr) -> slice:
    """Return a slice whose bounds are literals."""
    if not isinstance(node, ast.Slice):
        raise ValueError(ast.unparse(node))
    return slice(*[bound and ast.literal_eval(bound) for bound in (node.lower, node.upper, node.step)])


def _driver(spec: str, warp: int) -> TextDriver:
    """Return a driver like a device's; where `cuda`, `opencl:gpu` or `opencl:cpu` is absent, like a usual device's."""
    backend, _, kind = spec.lower().partition(":")
    if backend not in BACKENDS:
        raise ArgumentError(f"kernels: a device of {' or '.join(BACKENDS)}; got {quoted(spec)}")
    try:
        return TextDriver(backend, Device(spec).capabilities)
    except (BackendUnavailableError, UnknownDeviceError):
        if kind not in ("", "gpu", "cpu") or (backend, kind) == ("cuda", "cpu"):
            raise
    return TextDriver(backend, usual_device(kind, warp))
