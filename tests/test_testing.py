"""The conformance kit passes our own kernels, and finds each kind of broken one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuprims
from gpuprims import CallTraits, Capabilities, Geometry, Variant
from gpuprims.core.kernel_spec import KernelSpec
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import ArgumentError
from gpuprims.primitives.map.reference import map_numpy
from gpuprims.primitives.reference import Places
from gpuprims.primitives.sort.reference import sort_numpy
from gpuprims.primitives.sort.spec import SortSpec
from gpuprims.testing import check_backend, check_primitive, check_variant

# Kernels that compile in a second or two, for each kind of call.
COVERING = (
    *("map/cpu_chunks", "map/grid", "reduce/cpu_columns", "reduce/cpu_best", "reduce/rows", "reduce/each"),
    *("scan/cpu_columns", "scan/each", "histogram/cpu_private", "histogram/bytes", "stencil/cpu_rows"),
    *("csr/cpu_rows", "csr/rows", "logistic/cpu_fused", "logistic/two_kernels", "descent/cpu_persistent"),
    *("sgd/cpu_sequential", "hogwild/lock_free"),
)


def able(capabilities: Capabilities, call: CallTraits) -> str | None:
    return None


def broken(source: Any, primitive: str = "map", **fields: Any) -> Variant:
    return Variant(primitive, "broken", "reference", source, -1, Geometry(1, 64), **{"refuse": able} | fields)


@pytest.mark.whole
@pytest.mark.parametrize("label", COVERING)
def test_our_own_kernels_pass(label: str, device: gpuprims.Device) -> None:
    primitive, _, name = label.partition("/")
    if device.backend == "reference":
        check_variant(f"reference {primitive}/numpy")
        return
    found = [variant for variant in REGISTRY.variants(primitive, device.backend) if variant.name == name]
    for variant in found:
        able_here = "cpu_" not in name or device.capabilities.kind == "cpu"
        if able_here and (device.capabilities.warp or name != "rows"):
            check_variant(variant, device)


def test_the_reference_backend_passes() -> None:
    assert check_backend("reference") == {}


def test_a_primitive_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuprims.testing.primitives.devices", list)
    models = "csr", "logistic", "descent", "newton", "sgd", "hogwild"
    for name in (
        "map",
        "histogram",
        "compact",
        "segments",
        "take",
        "searchsorted",
        "merge",
        "sort",
        "selection",
        "top_k",
        *models,
    ):
        assert check_primitive(name) == {}


def test_a_dropped_tail_is_found() -> None:
    def dropping(spec: KernelSpec, memories: Sequence[np.ndarray], layout: np.ndarray, n: int) -> None:
        memories[-1].flat[...] = 77
        kept = memories[-1].copy()
        map_numpy(spec, memories, layout, n)
        memories[-1].flat[n - n % 64 :] = kept.flat[n - n % 64 :]

    with pytest.raises(
        AssertionError, match=r"map/broken on reference:0: NumPy's result for float32\[1\]; got 1 other"
    ):
        check_variant(broken(dropping))
    assert "broken" not in [variant.name for variant in REGISTRY.variants("map", "reference")]


BROKEN = """
__kernel WORK_GROUP(1)
void map_broken(INPUTS, OUTPUTS, const layout_t layout, const i64 n)
{
    for (i64 j = get_group_id(0); j < n - n % ITEMS; j += get_num_groups(0)) STORE(0, j, MAP(0, j));
    if (n % ITEMS && n < 60 && get_group_id(0) == 0)
        for (i64 j = n - n % ITEMS; j < n; j++) STORE(0, j, MAP(0, j));
}
"""


def test_a_kernel_that_is_wrong_where_several_primitives_meet_is_found() -> None:
    def mixing(spec: SortSpec, memories: Sequence[np.ndarray], *numbers: Any) -> None:
        sort_numpy(spec, memories, *numbers)
        if spec.carried == np.uint32 and spec.keeps_keys:  # no call of sort alone is such
            memories[3][...] = memories[3][::-1].copy()

    ranks = [variant.rank for variant in REGISTRY.variants("sort", "reference")]
    with pytest.raises(AssertionError, match=r"sort/broken .* \(unique's inverse\); got"):
        check_variant(broken(mixing, "sort"))
    assert [variant.rank for variant in REGISTRY.variants("sort", "reference")] == ranks


def test_a_compiled_kernel_that_drops_its_tail_is_found(tmp_path: Path, device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("compiles nothing")
    source = tmp_path / "map_broken.cl"
    source.write_text(BROKEN)
    variant = Variant("map", "broken", device.backend, source, -1, Geometry(1, 64), able)
    with pytest.raises(AssertionError, match=r"map/broken on .*: NumPy's result for float32\[63\]; got \d+ other"):
        check_variant(variant, device)


def reduce_halves(spec: Any, memories: Sequence[np.ndarray], layout: np.ndarray, kept: int, n: int, parts: int) -> None:
    """Fold the first half of the elements with the second, as a tree for operators that commute."""
    places = Places(spec, memories, layout)
    values = places.elements(kept, n)
    while (length := values[0].shape[1]) > 1:
        half = length // 2
        folded = spec.op(*(v[:, :half] for v in values), *(v[:, half : 2 * half] for v in values))
        values = [np.concatenate([f, v[:, 2 * half :]], axis=1) for f, v in zip(folded, values, strict=True)]
    places.store([value[:, 0] for value in values], n, reduced=False)


def test_a_wrong_order_is_found() -> None:
    unordered = "is for operators that commute; this one does not"
    for refuse in (able, lambda capabilities, call: None if call.commutative else unordered):
        variant = broken(reduce_halves, "reduce", refuse=refuse)
        if refuse is able:
            with pytest.raises(AssertionError, match=r"reduce/broken .* \(affine maps\); got 1 other"):
                check_variant(variant)
        else:
            check_variant(variant)


def test_results_that_differ_from_run_to_run_are_found() -> None:
    runs = []

    def noisy(spec: KernelSpec, memories: Sequence[np.ndarray], layout: np.ndarray, n: int) -> None:
        map_numpy(spec, memories, layout, n)
        runs.append(n)
        whole = memories[0] == np.round(memories[0])
        if memories[-1].dtype.kind == "f" and not whole.all():
            memories[-1].flat[0] += len(runs)

    with pytest.raises(AssertionError, match="the same bits each time, or level='none'; got 3 results of 3 runs"):
        check_variant(broken(noisy))
    check_variant(broken(noisy, level="none"))


@pytest.mark.parametrize("reason", ["no", 5, ""])
def test_a_refusal_that_is_no_sentence_is_found(reason: Any) -> None:
    refuse = lambda capabilities, call: reason if call.outputs > 63 else None  # noqa: E731 - one for each reason
    with pytest.raises(AssertionError, match=f"a refusal in a sentence, or None; got {reason!r}"):
        check_variant(broken(map_numpy, refuse=refuse))


def test_a_variant_that_refuses_everything_fails() -> None:
    refuse = lambda capabilities, call: "is for arrays on the moon; this one is here"  # noqa: E731 - as above
    with pytest.raises(AssertionError, match=r"map/broken: a call that it runs; got refusals of every call, .* moon"):
        check_variant(broken(map_numpy, refuse=refuse))


def test_refusals_of_some_calls_are_fine() -> None:
    refuse = lambda capabilities, call: "is for few elements; got many" if call.outputs > 63 else None  # noqa: E731
    check_variant(broken(map_numpy, refuse=refuse))


def test_counters_that_stay_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = gpuprims.Device("reference").driver
    monkeypatch.setattr(driver, "counters", lambda count: np.ones(count, np.uint32), raising=False)
    with pytest.raises(AssertionError, match=r"driver reference:0: counters\(\) that are zero after use; got"):
        check_backend("reference")


@pytest.mark.parametrize(
    ("name", "wrong", "rule"),
    [
        ("to_host", lambda array: array + 1, "to_host"),
        ("zeros", lambda shape, dtype: np.ones(shape, dtype), "zeros"),
        ("empty", lambda shape, dtype: np.empty(shape), "empty"),
        ("cut", lambda array, start, shape: array.ravel()[: np.prod(shape)].reshape(shape), "cut"),
        ("copy", lambda array, host: array[::-1], "copy"),
    ],
)
def test_a_broken_driver_is_found(name: str, wrong: Any, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpuprims.Device("reference").driver, name, wrong, raising=False)
    with pytest.raises(AssertionError, match=f"driver reference:0: {rule}"):
        check_backend("reference")


def test_facts_that_say_too_little_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = type(REGISTRY.backend("reference"))
    tells = property(lambda self: lambda array: (array.dtype, array.shape, array.strides))
    monkeypatch.setattr(backend, "facts_of", tells)
    with pytest.raises(AssertionError, match=r"facts_of\(\) that tells dtypes, shapes, strides and places apart"):
        check_backend("reference")


def test_a_primitive_without_a_reference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert REGISTRY.variants("map", "reference")
    monkeypatch.setitem(REGISTRY._variants, ("reference", "map"), {})
    REGISTRY.outdate()
    with pytest.raises(AssertionError, match="primitive map on reference:0: a variant for the tuning case; got"):
        check_primitive("map")


def test_unknown_labels_raise() -> None:
    with pytest.raises(ArgumentError, match="a label such as 'opencl reduce/warp'; got 'reference map/warp'"):
        check_variant("reference map/warp")
