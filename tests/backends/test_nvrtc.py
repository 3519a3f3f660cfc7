"""Every CUDA kernel compiles for every generation of GPUs, shown by NVIDIA's compiler alone: no GPU, no driver.

Real calls are made on a device that only compiles, so the specs are those that ``map``, ``reduce`` and ``scan``
make.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from idle_arrays import ones, resident
from kernel_calls import LONG, MAPS, REDUCTIONS, CompilingDriver, calls, every_complex_function
from kernel_cases import extreme_shapes

import gpuprims
from gpuprims.backends import PRELUDES
from gpuprims.backends.cuda.options import options_of
from gpuprims.cli.text_driver import usual_device
from gpuprims.core.codegen import kernel_source
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.registry import REGISTRY
from gpuprims.core.variant import Variant
from gpuprims.errors import ArgumentError, NoVariantError
from gpuprims.expressions import as_portable
from gpuprims.expressions.functions import UFUNCS
from gpuprims.expressions.portable import DEFINITIONS
from gpuprims.primitives.fold_variants import FoldVariant
from gpuprims.profiling import probe
from gpuprims.tuning.cases import case_of

VARIANTS = [variant for name in REGISTRY.primitive_names for variant in REGISTRY.variants(name, "cuda")]
PACKAGE = Path(gpuprims.__file__).parent
KERNELS = PACKAGE / "primitives"

nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")

if nvrtc.nvrtcVersion()[1] >= 13:
    pytest.skip(
        "NVRTC 13 compiles for sm_75 and newer alone; cuda-bindings 12 brings one for sm_70", allow_module_level=True
    )

ARCHITECTURES = (70, 80, 90, 100, 120)
# Kernels that need instructions of later generations.
SINCE = {"scan_queues": 90, "scan_fixed_queues": 90}
GPU = dataclasses.replace(usual_device("gpu", 32), asked_local_memory=227 * 1024)


# The text around a kernel defines more than each kernel uses; the kernels themselves get no such pardon.
PARDONED = re.compile(r"generated\.cu\(\d+\): warning #177-D|nvrtc: warning: Architectures prior to .* are deprecated")


# What the kernels of an entry refuse of calls that are for all kernels of their primitives.
IN_ORDER = ("values of at most 8 bytes", "outputs of one row")
OF_OTHERS = {
    "scan_fixed_round_robin": IN_ORDER,
    "scan_fixed_queues": IN_ORDER,
    "stencil_dense": ("this call has a function",),
    "stencil_separable": ("are no product of the two",),
    "sgd_fixed": ("only for kernels whose work-items share samples",),
}


def specs_of(variant: Variant, call: Callable[..., Any]) -> list[KernelSpec]:
    """Return what a call asks the compiler for, a pass at a time."""
    return [spec for _, spec in asked_for(variant, call)]


def asked_for(variant: Variant, call: Callable[..., Any]) -> list[tuple[Variant, KernelSpec]]:
    """Return what a call asks the compiler for, each with the variant as it was fitted to the call."""
    driver = CompilingDriver("cuda", GPU)
    try:
        call(device=gpuprims.Device._of(driver), variant=variant.name)
    except (ArgumentError, NoVariantError) as error:
        # Those that accumulate are for values that one atomic can fold, and exact ones for floats.
        of_few = isinstance(variant, FoldVariant) and (variant.accumulates or variant.folds == "exactly")
        if not of_few and not any(reason in str(error) for reason in OF_OTHERS.get(variant.entry, ())):
            raise
        pytest.skip(str(error))
    asked = [one for one in driver.asked if one[0].primitive == variant.primitive]  # histograms are added up by others
    assert {one.entry for one, _ in asked} == {variant.entry}
    return asked


def compile_cuda(variant: Variant, spec: KernelSpec, architecture: int) -> tuple[list[str], bool]:
    """Compile as the CUDA backend does; return what the compiler says, and whether machine code came out."""
    return compile_text(kernel_source(spec, variant, PRELUDES["cuda"], 32), architecture)


def compile_text(text: str, architecture: int) -> tuple[list[str], bool]:
    options = [one.encode() for one in (*options_of(nvrtc.nvrtcVersion()[1:]), f"-arch=sm_{architecture}")]
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"generated.cu", 0, [], [])
    nvrtc.nvrtcCompileProgram(program, len(options), options)
    _, length = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * (length + 1)  # Python shares objects of one byte, and NVRTC writes into this one
    nvrtc.nvrtcGetProgramLog(program, log)
    _, size = nvrtc.nvrtcGetCUBINSize(program)
    nvrtc.nvrtcDestroyProgram(program)
    said = [line for line in log.decode().splitlines() if re.search(r": (warning|error)\b", line)]
    return [line for line in said if not PARDONED.match(line)], size > 0


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test each variant and each of its calls, by default the first."""
    if {"variant", "call"} <= set(metafunc.fixturenames):
        most = None if metafunc.config.getoption("whole") else 1
        cases = {
            f"{variant.entry}-{name}": (variant, call)
            for variant in VARIANTS
            for name, call in list(calls(variant).items())[:most]
        }
        metafunc.parametrize(("variant", "call"), list(cases.values()), ids=list(cases))


def test_kernels_compile_without_a_warning_for_every_architecture(
    variant: Variant, call: Callable[..., Any], pytestconfig: pytest.Config
) -> None:
    # No kernel depends on the generation. A whole run compiles the first call for all generations, and other calls for
    # the oldest and the newest; a default run the first call for the newest.
    first = call is next(iter(calls(variant).values()))
    architectures: tuple[int, ...] = ARCHITECTURES if first else (ARCHITECTURES[0], ARCHITECTURES[-1])
    if not pytestconfig.getoption("whole"):
        architectures = ARCHITECTURES[-1:]
    architectures = tuple(one for one in architectures if one >= SINCE.get(variant.entry, 0))
    for fitted, spec in asked_for(variant, call):
        for architecture in architectures:
            said, compiled = compile_cuda(fitted, spec, architecture)
            assert said == []
            assert compiled


@pytest.mark.parametrize("bins", [9, 40_000, 300_000])
def test_folds_of_histograms_compile(bins: int, pytestconfig: pytest.Config) -> None:
    driver = CompilingDriver("cuda", GPU)
    ends = (ARCHITECTURES[0], ARCHITECTURES[-1]) if pytestconfig.getoption("whole") else ARCHITECTURES[-1:]
    for dtype in ("b1", "i4", "f2", "f4", "f8"):
        x, weights = resident(LONG), resident(LONG, dtype=dtype)
        for axes in ((2, -1), (-1,)):
            how = {"weights": weights.reshape(axes), "axis": len(axes) - 1, "device": gpuprims.Device._of(driver)}
            gpuprims.histogram(x.reshape(axes), bins, (0, 1), **how)
    folds = [one for one in driver.asked if one[0].primitive == "reduce"]
    assert {spec.op.arity for _, spec in folds if spec.op} == ({2} if bins < 300_000 else {2, 6})
    for variant, spec in folds:
        for architecture in ends:
            assert compile_cuda(variant, spec, architecture) == ([], True)


def test_values_of_outputs_side_by_side_fit_in_local_memory() -> None:
    driver = CompilingDriver("cuda", GPU)
    four = gpuprims.Op(
        lambda a, b: tuple(one + other for one, other in zip(a, b, strict=True)), (0.0,) * 4, commutative=True
    )
    for how in ({"op": four, "dtype": "f8"}, {"op": "nansum", "determinism": "order"}):
        columns = [resident(6, 1704)] * (4 if "dtype" in how else 1)
        gpuprims.reduce(*columns, axis=0, device=gpuprims.Device._of(driver), **how)
    assert "each" in [variant.name for variant, _ in driver.asked]
    for variant, spec in driver.asked:
        assert compile_cuda(variant, spec, ARCHITECTURES[-1]) == ([], True)


@pytest.mark.parametrize("operation", probe._OPERATIONS)
def test_the_loops_of_a_probe_compile(operation: str) -> None:
    variant, spec, _ = probe.kernel_of(operation, "cuda", 256, 4096)
    assert compile_cuda(variant, spec, ARCHITECTURES[-1]) == ([], True)


TUNABLE = [variant for variant in VARIANTS if variant.tunable is not None]


@pytest.mark.parametrize("variant", TUNABLE, ids=lambda variant: variant.entry)
def test_kernels_compile_in_every_shape_that_they_may_be_tuned_to(
    variant: Variant, pytestconfig: pytest.Config
) -> None:
    case, rng = case_of(variant.primitive), np.random.default_rng(1)
    whole = pytestconfig.getoption("whole")
    dtypes = ("uint8",) if variant.name == "bytes" else ("float32", "float64") if whole else ("float32",)
    compiled = set()
    for shape in extreme_shapes(variant):
        for dtype in dtypes:
            driver = CompilingDriver("cuda", GPU)
            with contextlib.suppress(NoVariantError):  # of shapes that do not fit
                x = case.elements(rng, np.dtype(dtype), 100_000)
                case.run(x, device=gpuprims.Device._of(driver), variant=variant.with_geometry(shape))
            for asked, spec in driver.asked:
                if asked.primitive == variant.primitive:
                    assert shape.block % asked.block == 0
                    smaller = shape.block // asked.block  # stencils of short rows take smaller groups, but more
                    assert smaller == 1 or asked.primitive == "stencil"
                    if dtype != "float64":  # of wide values, a histogram starts fewer groups
                        assert asked.groups_per_unit == (shape.groups_per_unit and shape.groups_per_unit * smaller)
                    compiled.add(shape)
                    for architecture in (70, 90) if whole else (90,):
                        said, machine_code = compile_cuda(asked, spec, architecture)
                        assert said == []
                        assert machine_code
    assert len(compiled) > 1


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_complex_numbers_are_moved_in_vectors(architecture: int) -> None:
    (variant,) = (variant for variant in VARIANTS if variant.entry == "map_grid")
    (alone,) = specs_of(variant, MAPS["complex64"])  # memory of the host, of no alignment
    assert compile_cuda(variant, dataclasses.replace(alone, vector=2), architecture) == ([], True)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_kernel_ahead_of_timed_launches_compiles(architecture: int) -> None:
    assert compile_text((PACKAGE / "backends/cuda/idle.cu").read_text(), architecture) == ([], True)


def ptx_of(variant: Variant, spec: KernelSpec) -> str:
    """Return the instructions of a kernel, for no GPU in particular."""
    text = kernel_source(spec, variant, PRELUDES["cuda"], 32)
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"generated.cu", 0, [], [])
    nvrtc.nvrtcCompileProgram(program, 2, [b"--std=c++17", b"-arch=compute_80"])
    _, size = nvrtc.nvrtcGetPTXSize(program)
    written = b" " * (size + 1)  # no object of one byte, which Python shares
    nvrtc.nvrtcGetPTX(program, written)
    nvrtc.nvrtcDestroyProgram(program)
    return written.decode()


# A product that may be merged with a sum: ptxas keeps a product apart only if its rounding is named, as in mul.rn.
MERGED = r"\bfma|\bmul\.(ftz\.)?f"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("source", ["a*b - c", "a*b - a*b", "a**2 + b**2", "sqrt(a*a + b*b) / (c*c - 1)"])
def test_map_rounds_a_product_before_its_sum(dtype: str, source: str) -> None:
    (variant,) = (variant for variant in VARIANTS if variant.entry == "map_grid")
    named = {name: resident(1000, dtype=dtype) for name in "abc" if name in source}
    (spec,) = specs_of(variant, lambda **where: gpuprims.map(source, **named, **where))
    apart = ptx_of(variant, spec)
    assert not re.search(MERGED, apart)
    products = re.findall(r"\bmul\.\S*f(?:32|64)", apart)
    assert products
    assert set(products) == {f"mul.rn.f{8 * np.dtype(dtype).itemsize}"}
    merging = dataclasses.replace(spec)
    object.__setattr__(merging, "contracted", True)  # of the class
    assert re.search(MERGED, ptx_of(variant, merging))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_portable_functions_are_not_contracted(dtype: str, pytestconfig: pytest.Config) -> None:
    names = [name for name in DEFINITIONS if name in UFUNCS] if pytestconfig.getoption("whole") else ["exp", "sin"]
    (variant,) = (variant for variant in VARIANTS if variant.entry == "map_grid")
    x = resident(1000, dtype=dtype)
    for name in names:
        function, operands = UFUNCS[name].numpy, [x] * UFUNCS[name].arity
        (spec,) = specs_of(variant, lambda f=function, xs=operands, **where: gpuprims.map(f, *xs, **where))
        portable = dataclasses.replace(spec, map=as_portable(spec.map))
        assert f"gp_portable_{name}_f{8 * x.dtype.itemsize}(const" in kernel_source(
            portable, variant, PRELUDES["cuda"], 32
        )
        assert compile_cuda(variant, portable, 90) == ([], True)
        apart = ptx_of(variant, portable)
        assert not re.search(MERGED, apart), name
        assert not re.search(r"\.(approx|ftz|full)\b", apart), name  # divisions and roots round once


def test_folds_may_be_contracted() -> None:
    (variant,) = (variant for variant in VARIANTS if variant.entry == "reduce_warp")
    x = resident(100_000)
    (spec,) = specs_of(variant, lambda **where: gpuprims.reduce(x, x, map="x*y", **where))
    assert re.search(MERGED, ptx_of(variant, spec))


def test_every_function_of_complex_numbers_compiles(pytestconfig: pytest.Config) -> None:
    (variant,) = (variant for variant in VARIANTS if variant.entry == "map_grid")
    (spec,) = specs_of(variant, lambda **where: gpuprims.map(every_complex_function, ones(9, dtype="c8"), **where))
    assert f".entry {variant.entry}" in ptx_of(variant, spec)
    if pytestconfig.getoption("whole"):  # machine code takes 7 s, instructions 2 s
        assert compile_cuda(variant, spec, ARCHITECTURES[0]) == ([], True)


@pytest.mark.parametrize(
    "variant", [v for v in VARIANTS if v.entry in ("reduce_warp", "reduce_tree")], ids=lambda variant: variant.entry
)
def test_elements_are_read_in_vectors_in_any_order(variant: Variant) -> None:
    assert [d.vector for d in specs_of(variant, REDUCTIONS["sum of float32 by several groups"])] == [4]
    assert [d.vector for d in specs_of(variant, REDUCTIONS["an operator that does not commute"])] == [2]


def test_options_are_those_that_a_version_knows() -> None:
    assert options_of((12, 3)) == ("--std=c++17",)
    assert options_of((12, 4)) == options_of((13, 0))
    assert "--minimal" in options_of((12, 4))


def test_every_kernel_file_is_compiled() -> None:
    files = {*KERNELS.glob("*/kernels/*.cl"), *KERNELS.parent.glob("backends/cuda/kernels/*.cu")}
    assert {variant.source for variant in VARIANTS} == {path for path in files if "_cpu_" not in path.stem}
    assert not [variant.entry for variant in VARIANTS if "__CUDA_ARCH__" in variant.source.read_text()]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.entry)
def test_an_error_names_the_kernels_own_file_and_line(variant: Variant, tmp_path: Any) -> None:
    lines = variant.source.read_text().splitlines()
    numbers = [k for k, line in enumerate(lines, 1) if re.search(r"const (int tid|where_t where) = ", line)]
    for number in numbers:  # a spec compiles one of them
        lines[number - 1] = "    const int tid = no_such_name;"
    broken = tmp_path / variant.source.name
    broken.write_text("\n".join(lines))
    spec = specs_of(variant, next(iter(calls(variant).values())))[0]
    said, compiled = compile_cuda(dataclasses.replace(variant, source=broken), spec, SINCE.get(variant.entry, 80))
    assert not compiled
    assert said[0] in {f'{broken.name}({k}): error: identifier "no_such_name" is undefined' for k in numbers}


def test_a_warning_about_a_kernel_is_seen(tmp_path: Any) -> None:
    variant = next(variant for variant in VARIANTS if variant.entry == "map_grid")
    careless = tmp_path / variant.source.name
    careless.write_text(variant.source.read_text().replace("const int tid =", "const int unused = 1, tid ="))
    spec = specs_of(variant, MAPS["one array"])[0]
    said, compiled = compile_cuda(dataclasses.replace(variant, source=careless), spec, 70)
    assert compiled
    assert len(said) == 1
    assert careless.name in said[0]
