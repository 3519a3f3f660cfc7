"""Kernel specs: what makes two equal, which constants are arguments, and the text of a primitive of one's own."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from gpuprims.core.codegen import kernel_source
from gpuprims.core.geometry import Geometry, first_refusal
from gpuprims.core.kernel_spec import Access, KernelSpec
from gpuprims.core.variant import Variant
from gpuprims.expressions import expression, typed
from gpuprims.primitives.fold_spec import FoldSpec, ScanSpec
from gpuprims.primitives.segments.spec import SegmentSpec

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)
LINE = Access(F32, (), (1,))


def spec_of(source: str, cls: type[KernelSpec] = KernelSpec, **more: Any) -> Any:
    function = typed(expression(source), (F32,), (F32,))
    finish = typed(expression(lambda value, count: value), (F32, I64), (F32,))
    return cls((LINE,), (LINE,), (F32,), function, finish, **more)


def fold_of(identity: float, cls: type[KernelSpec] = FoldSpec, **more: Any) -> Any:
    op = typed(expression("x + y"), (F32, F32), (F32,))
    return spec_of("x", cls, op=op, identity=(np.float32(identity),), **more)


def test_the_base_has_few_fields() -> None:
    assert len(fields(KernelSpec)) <= 10


@pytest.mark.parametrize("identity", [0.0, -0.0, np.inf, np.nan])
def test_specs_are_equal_bit_for_bit(identity: float) -> None:
    one, other = fold_of(identity), fold_of(identity)
    assert one == other
    assert hash(one) == hash(other)
    assert one != fold_of(1.0)
    assert (one == fold_of(0.0)) == (identity == 0 and not np.signbit(identity))


def test_specs_of_other_classes_or_facts_differ() -> None:
    assert fold_of(0.0) != fold_of(0.0, SegmentSpec)
    assert fold_of(0.0, ScanSpec, inclusive=True) != fold_of(0.0, ScanSpec, inclusive=False)
    assert fold_of(0.0) != replace(fold_of(0.0), vector=4)
    assert fold_of(0.0) != "a spec"


def test_calls_that_differ_in_constants_share_a_spec() -> None:
    (two, twos), (three, threes) = spec_of("2.5*x").lifted(), spec_of("3.5*x").lifted()
    assert two == three
    assert spec_of("2.5*x") != spec_of("3.5*x")
    assert two.bound(np.concatenate([[1], threes])) == spec_of("3.5*x")
    assert twos.tolist() != threes.tolist()


@dataclass(frozen=True, eq=False, kw_only=True)
class OwnSpec(KernelSpec):
    """A spec with a macro, a function and a header."""

    gap: int
    header: Path
    lifts_constants: ClassVar[bool] = False

    def macros(self) -> dict[str, int | str]:
        return {"GAP": self.gap}

    def text(self) -> list[str]:
        return ["DEVICE i64 gp_gap(void)", "{", "    return GAP;", "}"]

    def headers(self) -> tuple[Path, ...]:
        return (self.header,)


def test_a_primitive_brings_macros_text_and_headers(tmp_path: Path) -> None:
    prelude, header, kernel = (tmp_path / name for name in ("prelude.cl", "own.h", "own_kernel.cl"))
    for path in (prelude, header, kernel):
        path.write_text(f"/* {path.name} */")
    spec = spec_of("2.5*x", OwnSpec, gap=7, header=header)
    variant = Variant("own", "kernel", "opencl", kernel, 1, Geometry(256, 4), first_refusal())
    lines = kernel_source(spec, variant, prelude, 32).splitlines()
    parts = ["#define BLOCK 256", "/* prelude.cl */", "#define GAP 7", "    return GAP;", "/* own.h */"]
    assert [line for line in lines if line in parts] == parts
    assert lines[-2:] == ['#line 1 "own_kernel.cl"', "/* own_kernel.cl */"]
    assert spec.lifted()[0] is spec
