"""Write the text that a vendor's compiler gets, the same C for CUDA and OpenCL.

The parts, in order: constants, the backend's prelude, integers as bits, NumPy's arithmetic, portable functions and
complex arithmetic if needed, the types of the call, its functions ``MAP`` and ``STORE``, those of rows if the variant
takes rows, its primitive's macros, functions and headers, and the kernel file.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from gpuprims.core.codegen.functions import map_text, store_text
from gpuprims.core.codegen.operands import types_text, words_text
from gpuprims.core.codegen.rows import row_text
from gpuprims.core.kernel_spec import DOUBLES, KernelSpec, value_words
from gpuprims.core.variant import Variant
from gpuprims.expressions import c_type, part
from gpuprims.expressions.narrow import is_storage
from gpuprims.expressions.same_bits import portable_names, portable_text

# Headers: integers as bits; functions that exchange values between lanes and between groups.
_BITS, _SHUFFLING = (Path(__file__).parents[1] / "kernels" / name for name in ("bits.h", "shuffling.h"))


def kernel_source(spec: KernelSpec, variant: Variant, prelude: Path, warp: int) -> str:
    """Write the whole text of a variant's kernel; compiler errors give line numbers of its file.

    ``prelude`` has the backend's address spaces, barriers, vectors, shuffles and atomics. ``warp`` is the number of
    lanes of a warp; 0 without shuffles.
    """
    portable = portable_names(spec.functions)
    constants: dict[str, int | str] = {
        "BLOCK": variant.block,
        "RESIDENT": variant.resident,
        "ITEMS": max(variant.items, spec.vector),
        "VECTOR": spec.vector,
        "ACROSS": spec.vector_across,
        "CONTRACTED": int(spec.contracts and not portable),
        "PORTABLE": int(bool(portable)),
        "WARP": warp,
        "WORDS": value_words(spec.values),
    }
    if not spec.dtypes.isdisjoint(DOUBLES):
        constants["HAS_F64"] = 1
    return "\n".join(
        [
            *_defined(constants),
            prelude.read_text(),
            _BITS.read_text(),
            files("gpuprims.expressions").joinpath("arithmetic.h").read_text(),
            *portable_text(portable),
            *_complex(spec),
            *_narrow(spec),
            *types_text(spec),
            *((*map_text(spec), *store_text(spec)) if spec.maps else ()),
            *(row_text(spec) if variant.by_rows else ()),
            *_defined(spec.macros()),
            *spec.text(),
            *([*words_text(spec.values), _SHUFFLING.read_text()] if spec.exchanges else ()),
            *(path.read_text() for path in spec.headers()),
            f'#line 1 "{variant.path.name}"',
            spec.kernel_text(variant.path),
        ]
    )


def _defined(macros: dict[str, int | str]) -> list[str]:
    return [f"#define {name} {value}" for name, value in macros.items()]


def _narrow(spec: KernelSpec) -> list[str]:
    """Write the conversions of ml_dtypes' floats, if the kernel reads, writes or rounds to one."""
    dtypes = spec.dtypes | {access.dtype for access in spec.outputs}
    return [files("gpuprims.expressions").joinpath("narrow.h").read_text()] if any(map(is_storage, dtypes)) else []


def _complex(spec: KernelSpec) -> list[str]:
    """Write complex arithmetic for each width that the kernel computes in."""
    widths = sorted((dtype for dtype in spec.dtypes if dtype.kind == "c"), key=lambda dtype: dtype.itemsize)
    if not widths:
        return []
    headers = [files("gpuprims.expressions").joinpath(name) for name in ("complex.h", "complex_inverse.h")]
    texts, parts = [header.read_text() for header in headers], list[str]()
    for dtype in widths:
        parts += [f"#define COMPLEX {c_type(dtype)}", f"#define REAL {c_type(part(dtype))}", *texts]
        parts += ["#undef COMPLEX", "#undef REAL"]
    return parts
