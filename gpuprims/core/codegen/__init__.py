"""From definitions to the text that a vendor's compiler gets: C that is the same in CUDA and OpenCL.

Around the kernel file, in this order: constants, the backend's prelude, NumPy's arithmetic, complex numbers where there
are any, the types of the call, its functions ``MAP``, ``OP`` and ``STORE``, the steps that reductions, scans or
histograms share, and the file itself.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from gpuprims.core.codegen.bins import bins_text
from gpuprims.core.codegen.folds import fold_text, words_text
from gpuprims.core.codegen.functions import map_text, store_text
from gpuprims.core.codegen.logistic import logistic_text
from gpuprims.core.codegen.operands import types_text
from gpuprims.core.codegen.sparse import sparse_text
from gpuprims.core.codegen.stencils import stencil_text
from gpuprims.core.kernel_spec import Definitions, value_words
from gpuprims.expressions import c_type, part

# What kernels of logistic regression share, by what they give.
_STEPS = {
    "gradient": ("logistic/kernels/logistic.h",),
    "batch": ("descent/kernels/batch.h",),
    "single": ("sgd/kernels/single.h",),
}


def kernel_source(
    definitions: Definitions,
    kernel: Path,
    prelude: Path,
    block: int,
    items: int,
    warp: int,
    resident: int = 1,
) -> str:
    """Write the whole text of a kernel.

    Parameters
    ----------
    definitions : Definitions
    kernel : Path
        The kernel file; errors name its own lines.
    prelude : Path
        What the backend says differently from others: its words, vectors, shuffles and atomics.
    block, items : int
        Work-items a group, elements a work-item.
    warp : int
        Work-items whose registers shuffles reach; 0 where there are no shuffles.
    resident : int
        Groups that a compute unit must have room for.

    Returns
    -------
    str
    """
    constants = {
        "BLOCK": block,
        "RESIDENT": resident,
        "ITEMS": max(items, definitions.vector),
        "COMMUTATIVE": int(definitions.commutative),
        "VECTOR": definitions.vector,
        "CONTRACTED": int(definitions.contracted),
        "WARP": warp,
        "WORDS": value_words(definitions.values),
    }
    if definitions.uses_float64:
        constants["HAS_F64"] = 1
    if definitions.inclusive is not None:
        constants |= {"INCLUSIVE": int(definitions.inclusive), "PACKED": int(definitions.packed)}
    fold = []
    if definitions.op:
        steps = "reduce/kernels/folding.h" if definitions.inclusive is None else "scan/kernels/scanning.h"
        shared = [_header(name) for name in ("../core/kernels/shuffling.h", steps)]
        fold = [*fold_text(definitions), *words_text(definitions), *shared]
    if definitions.binning:
        steps = _header("histogram/kernels/binning.h")
        fold = [*bins_text(definitions, definitions.binning), steps]
    if definitions.stencil:
        steps = _header("stencil/kernels/stencil.h")
        fold = [*stencil_text(definitions, definitions.stencil), steps]
    if definitions.logistic:
        headers = ("../core/kernels/shuffling.h", "logistic/kernels/rows.h", *_STEPS[definitions.logistic.gives])
        shared = [_header(name) for name in headers]
        fold = [*logistic_text(definitions, definitions.logistic), *words_text(definitions)]
        fold += shared
    if definitions.sparse:
        shared = [_header(name) for name in ("../core/kernels/shuffling.h", "csr/kernels/sparse.h")]
        fold = [*sparse_text(definitions, definitions.sparse), *words_text(definitions), *shared]
    # These load and store by macros of their own.
    own = definitions.stencil or definitions.logistic or definitions.sparse
    parts = [
        *(f"#define {name} {value}" for name, value in constants.items()),
        prelude.read_text(),
        files("gpuprims.expressions").joinpath("arithmetic.h").read_text(),
        *_complex(definitions),
        *types_text(definitions),
        *([] if own else map_text(definitions)),
        *([] if own else store_text(definitions)),
        *fold,
        f'#line 1 "{kernel.name}"',
        kernel.read_text(),
    ]
    return "\n".join(parts)


def _header(name: str) -> str:
    return files("gpuprims.primitives").joinpath(name).read_text()


def _complex(definitions: Definitions) -> list[str]:
    """Write the arithmetic of each width of complex numbers that the kernel computes in."""
    widths = sorted((dtype for dtype in definitions.dtypes if dtype.kind == "c"), key=lambda dtype: dtype.itemsize)
    if not widths:
        return []
    text, parts = files("gpuprims.expressions").joinpath("complex.h").read_text(), []
    for dtype in widths:
        parts += [f"#define COMPLEX {c_type(dtype)}", f"#define REAL {c_type(part(dtype))}", text]
        parts += ["#undef COMPLEX", "#undef REAL"]
    return parts
