"""What cannot be computed raises one exception of gpuprims.errors, saying label, rule and what was got."""

from __future__ import annotations

import numpy as np
import pytest

import gpuprims
from gpuprims import errors
from gpuprims.primitives.csr import csr_product
from gpuprims.primitives.logistic import logistic_gradient

X = np.arange(6.0).reshape(2, 3)

CASES = {
    "objects": (lambda: gpuprims.reduce(np.array([1, None])), errors.DtypeError, "object"),
    "strings": (lambda: gpuprims.reduce(["a", "b"]), errors.DtypeError, "<U1"),
    "bytes": (lambda: gpuprims.map("x", np.array([b"a"])), errors.DtypeError, "S1"),
    "dates": (lambda: gpuprims.reduce(np.array(["2026-11-21"], "M8[D]")), errors.DtypeError, r"datetime64\[D\]"),
    "durations": (lambda: gpuprims.map("x", np.array([7], "m8[s]")), errors.DtypeError, "timedelta64"),
    "complex made real": (lambda: gpuprims.map("float32(x)", X + 1j), errors.DtypeError, "complex128 to float32"),
    "a complex constant made real": (lambda: gpuprims.map("x + int8(2j)", X), errors.ExpressionError, r"int8\(2j\)"),
    "complex numbers summed as real": (lambda: gpuprims.reduce(X + 1j, dtype="f8"), errors.DtypeError, "to float64"),
    "no floor of complex numbers": (lambda: gpuprims.map("x // 2", X + 1j), errors.DtypeError, "complex128"),
    "no remainder of complex numbers": (lambda: gpuprims.map("x % 2", X + 1j), errors.DtypeError, "complex128"),
    "no bits of complex numbers": (lambda: gpuprims.map("x & 1", X + 1j), errors.DtypeError, "complex128"),
    "records": (lambda: gpuprims.reduce(np.zeros(2, [("a", "i4")])), errors.DtypeError, "i4"),
    "ragged lists": (lambda: gpuprims.reduce([[1, 2], [3]]), errors.ArrayError, r"list \[\[1, 2\], \[3\]\]"),
    "no array at all": (lambda: gpuprims.reduce(), errors.ArgumentError, "none"),
    "no array to map": (lambda: gpuprims.map("x"), errors.ArgumentError, "none"),
    "an axis too far": (lambda: gpuprims.reduce(X, axis=2), errors.AxisError, "2"),
    "an axis too far back": (lambda: gpuprims.reduce(X, axis=-3), errors.AxisError, "-3"),
    "an axis twice": (lambda: gpuprims.reduce(X, axis=(0, -2)), errors.AxisError, r"\(0, -2\)"),
    "an axis of no number": (lambda: gpuprims.reduce(X, axis="rows"), errors.AxisError, "'rows'"),
    "an axis of half": (lambda: gpuprims.reduce(X, axis=0.5), errors.AxisError, "0.5"),
    "an axis of truth": (lambda: gpuprims.reduce(X, axis=True), errors.AxisError, "True"),
    "an axis of a number": (lambda: gpuprims.reduce(3.0, axis=1), errors.AxisError, "1"),
    "an unknown operator": (lambda: gpuprims.reduce(X, op="median"), errors.UnknownOperatorError, "'median'"),
    "an operator of no kind": (lambda: gpuprims.reduce(X, op=["sum"]), errors.UnknownOperatorError, r"\['sum'\]"),
    "an unknown backend": (lambda: gpuprims.reduce(X, device="abacus"), errors.UnknownDeviceError, "'abacus'"),
    "an unknown device": (lambda: gpuprims.reduce(X, device="reference:7"), errors.UnknownDeviceError, "reference:7"),
    "a device of no kind": (lambda: gpuprims.reduce(X, device=7), errors.UnknownDeviceError, "7"),
    "an unknown variant": (lambda: gpuprims.reduce(X, variant="fastest"), errors.UnknownVariantError, "'fastest'"),
    "shapes that do not match": (lambda: gpuprims.map("x+y", X, X[:, :2]), errors.ShapeError, r"\(2, 3\) and \(2, 2\)"),
    "shapes that do not match, folded": (
        lambda: gpuprims.reduce(X, X[0, :2], map="x*y"), errors.ShapeError, r"\(2, 3\) and \(2,\)",
    ),
    "more elements than indices count": (
        lambda: gpuprims.map("x+y", np.broadcast_to(X[0, 0], (2**40, 1)), np.broadcast_to(X[0, 0], (1, 2**40))),
        errors.ShapeError, "1099511627776",
    ),
    "more elements to fold than indices count": (
        lambda: gpuprims.reduce(np.broadcast_to(X[0, 0], (2**40, 1)), np.broadcast_to(X[0, 0], (1, 2**40)), map="x*y"),
        errors.ShapeError, "at most 2\\^62 elements",
    ),
    "too many arrays": (lambda: gpuprims.map("x+1", X, X), errors.ArgumentError, "2"),
    "too few arrays": (lambda: gpuprims.map(lambda x, y: x + y, X), errors.ArgumentError, "1"),
    "two arrays to sum": (lambda: gpuprims.reduce(X, X), errors.ArgumentError, "2"),
    "a name the string has not": (lambda: gpuprims.map("x+1", x=X, z=X), errors.ArgumentError, "z"),
    "an attribute": (lambda: gpuprims.map("x.T", X), errors.ExpressionError, "attribute"),
    "an attribute's call": (lambda: gpuprims.map("np.sqrt(x)", X), errors.ExpressionError, r"np\.sqrt"),
    "a call": (lambda: gpuprims.map("eval(x)", X), errors.ExpressionError, r"eval\(\)"),
    "an import": (lambda: gpuprims.map("__import__('os')", X), errors.ExpressionError, "__import__"),
    "a statement": (lambda: gpuprims.map("x = 1", X), errors.ExpressionError, "x = 1"),
    "a number as a function": (lambda: gpuprims.map(3, X), errors.ExpressionError, "int"),
    "a branch": (lambda: gpuprims.map(lambda x: x if x > 0 else -x, X), errors.ExpressionError, "if"),
    "no maximum of nothing": (lambda: gpuprims.reduce([], op="max"), errors.EmptyReductionError, r"\(0,\)"),
    "an unknown dtype": (lambda: gpuprims.reduce(X, dtype="float33"), errors.DtypeError, "float33"),
    "a dtype without kernels": (lambda: gpuprims.reduce(X, dtype="longdouble"), errors.DtypeError, "float128"),
    "a number too large": (lambda: gpuprims.map("x+y", np.int8([1]), 300), errors.DtypeError, "300"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_named(name: str) -> None:
    call, error, got = CASES[name]
    with gpuprims.use_device("reference"), pytest.raises(error, match=got) as raised:
        call()
    said = str(raised.value)
    assert ": " in said
    assert "; got " in said
    assert isinstance(raised.value, ValueError | TypeError)


@pytest.mark.parametrize("call", [gpuprims.reduce, lambda x, **wrong: gpuprims.map("x", x, **wrong)])
def test_an_unknown_keyword_is_not_swallowed(call: object) -> None:
    with pytest.raises((TypeError, ValueError), match="axes"):
        call(X, axes=1)  # type: ignore[operator]


def test_numpys_own_exceptions_catch_them() -> None:
    with pytest.raises(ValueError, match="at least one element"):
        gpuprims.reduce([], op="argmin", device="reference")
    with pytest.raises(IndexError):
        gpuprims.reduce(X, axis=5, device="reference")
    with pytest.raises(TypeError):
        gpuprims.reduce(["a"], device="reference")


def _held(device: gpuprims.Device) -> int:
    """Return the bytes of arrays that this process holds on a GPU; OpenCL's pools tell of none."""
    if device.backend != "cuda":
        return 0
    import cupy

    return int(cupy.get_default_memory_pool().used_bytes())


def test_a_device_out_of_memory_names_the_bytes_and_keeps_none(device: gpuprims.Device) -> None:
    if device.backend == "reference":
        pytest.skip("its memory is the host's")
    tall = device.asarray(np.ones((2**21, 1), np.float32))
    wide = device.asarray(np.ones((1, 2**21), np.float32))
    gpuprims.map("x+1", tall)
    device.synchronize()
    before = _held(device)
    for _ in range(3):
        with pytest.raises(errors.DeviceMemoryError, match=r"17,592,186,044,416") as raised:
            gpuprims.map("x+y", tall, wide)
        assert raised.value.wanted == 2**44
        assert raised.value.free is None or raised.value.free <= device.capabilities.memory
        del raised
    assert _held(device) == before
    assert float(device.to_host(gpuprims.reduce(tall))) == 2**21


# Values of odd kinds


class Unspeakable:
    """Raises where a message would quote it."""

    def __repr__(self) -> str:
        raise KeyError("no repr")


class Unreadable(Unspeakable):
    """Raises where NumPy would make an array of it."""

    def __array__(self, *given: object, **how: object) -> None:
        raise KeyError("no array")


def nested(depth: int) -> list[object]:
    """Return a list in a list in a list."""
    found: list[object] = []
    for _ in range(depth):
        found = [found]
    return found


ODD_NAMES = [5, 2.5, b"tree", Unspeakable(), ["tree"], {"tree": 1}, np.arange(3), nested(20_000), "x" * 5000, 10**5000]
ROWS, LABELS = X.T, np.array([0.0, 1.0, 0.0])
WITH_VARIANT = {
    "map": lambda given: gpuprims.map("x+1", X, variant=given),
    "reduce": lambda given: gpuprims.reduce(X, variant=given),
    "reduce of segments": lambda given: gpuprims.reduce(X[0], segments=[0, 3], variant=given),
    "scan": lambda given: gpuprims.scan(X, variant=given),
    "compact": lambda given: gpuprims.compact(X, "x > 2", variant=given),
    "histogram": lambda given: gpuprims.histogram(X, variant=given),
    "bincount": lambda given: gpuprims.bincount([0, 1, 1], variant=given),
    "stencil": lambda given: gpuprims.stencil(X, [1, 2, 1], variant=given),
    "blur": lambda given: gpuprims.blur(X, variant=given),
    "hash_counts": lambda given: gpuprims.hash_counts(["a b"], 4, variant=given),
    "plan": lambda given: gpuprims.plan("reduce", X, variant=given),
    "logistic_gradient": lambda given: logistic_gradient(ROWS, LABELS, np.zeros(2), variant=given),
    "csr_product": lambda given: csr_product(X[0], [0, 1, 0], [0, 2, 3], np.ones(2), variant=given),
}


@pytest.mark.parametrize("odd", range(len(ODD_NAMES)))
@pytest.mark.parametrize("call", WITH_VARIANT)
def test_a_variant_that_is_no_name_is_refused(call: str, odd: int) -> None:
    with gpuprims.use_device("reference"), pytest.raises(errors.UnknownVariantError) as raised:
        WITH_VARIANT[call](ODD_NAMES[odd])
    assert len(str(raised.value)) < 250


ODD_DEVICES = [*ODD_NAMES, "9" * 5000, "reference:" + "9" * 5000, "opencl:" + "9" * 5000, ""]


@pytest.mark.parametrize("odd", range(len(ODD_DEVICES)))
def test_a_device_of_an_odd_kind_is_refused(monkeypatch: pytest.MonkeyPatch, odd: int) -> None:
    given = ODD_DEVICES[odd]

    def asked() -> object:
        return gpuprims.reduce(X, device=given)  # type: ignore[arg-type]

    refusals = errors.UnknownDeviceError, errors.BackendUnavailableError
    with pytest.raises(refusals) as raised:
        asked()
    assert len(str(raised.value)) < 400
    if isinstance(given, str) and given:
        monkeypatch.setenv("GPUPRIMS_DEVICE", given)
        with pytest.raises(refusals):
            gpuprims.reduce(X)


READERS = {
    "reduce": lambda given: gpuprims.reduce(given),
    "map beside an array": lambda given: gpuprims.map("x+y", X, given),
    "map's out": lambda given: gpuprims.map("x+1", X, out=given),
    "compact's mask": lambda given: gpuprims.compact(X, given),
    "histogram's bins": lambda given: gpuprims.histogram(X, bins=given),
    "histogram's weights": lambda given: gpuprims.histogram(X, weights=given),
    "stencil's weights": lambda given: gpuprims.stencil(X, given),
    "stencil's border": lambda given: gpuprims.stencil(X, [1, 2, 1], mode="constant", cval=given),
    "stencil's iterations": lambda given: gpuprims.stencil(X, [1, 2, 1], iterations=given),
    "blur's size": lambda given: gpuprims.blur(X, "box", size=given),
    "reduce's segments": lambda given: gpuprims.reduce(X[0], segments=given),
    "reduce's operator": lambda given: gpuprims.reduce(X, op=given),
    "reduce's axis": lambda given: gpuprims.reduce(X, axis=given),
    "reduce's ddof": lambda given: gpuprims.reduce(X, op="var", ddof=given),
    "plan": lambda given: gpuprims.plan(given, X),
}


@pytest.mark.parametrize("given", [Unspeakable(), Unreadable(), nested(20_000)], ids=["repr", "array", "nested"])
@pytest.mark.parametrize("call", READERS)
def test_what_raises_by_itself_is_refused_in_a_sentence(call: str, given: object) -> None:
    with gpuprims.use_device("reference"), pytest.raises(errors.GpuprimsError) as raised:
        READERS[call](given)
    assert "; got " in str(raised.value)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("cuda:0", "'cuda:0'"),
        ("9" * 5000, "'" + "9" * 76 + "..."),
        (10**5000, "<int of 16610 bits>"),
        (Unspeakable(), "<Unspeakable, whose repr raises KeyError>"),
        (nested(20_000), "[[[[[[[[[...]]]]]]]]]"),
        ([[1, 2], [3]], "[[1, 2], [3]]"),
        (list(range(10**6)), str(list(range(30)))[:77] + "..."),
        ("two\nlines", r"'two\nlines'"),
    ],
    ids=["spec", "digits", "int", "repr", "nested", "list", "long", "lines"],
)
def test_a_quote_is_short_whatever_is_quoted(value: object, text: str) -> None:
    assert errors.quoted(value) == text
