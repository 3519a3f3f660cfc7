"""Fuzz expressions, from a grammar and from noise, and model files: results are right, or an error names the fault."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import gpuprims
from gpuprims.errors import DtypeError, ExpressionError, GpuprimsError
from gpuprims.models import LogReg

from .report import Report

LEAVES = ("x", "y", "0", "1", "2", "3", "7", "0.5", "1e3", "True")
UNARY = ("-{}", "+{}", "~{}", "abs({})", "sqrt(abs({}))", "square({})", "floor({})", "sign({})", "float32({})")
BINARY = ("+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", ">", "&", "|", "^", "**", "<<")
CALLS = ("maximum", "minimum", "hypot")
DTYPES = ("bool", "int8", "int32", "int64", "uint8", "uint32", "uint64", "float16", "float32", "float64")
ALPHABET = "xyz0123456789.+-*/%<>=!&|^~()[]{}, '\"_aeijnor\n\\\0é"
FUNCTIONS = ("abs", "sqrt", "square", "floor", "sign", "maximum", "minimum", "hypot", "where")
SCOPE: dict[str, Any] = {name: getattr(np, name) for name in FUNCTIONS}
SCOPE["float32"] = lambda value: np.asarray(value).astype(np.float32)[()]
# Devices compute one expression in this many, because each compiles a kernel.
ON_A_DEVICE = 200


def expression(rng: np.random.Generator, depth: int) -> str:
    """Return a random text of the language."""
    if depth == 0 or rng.random() < 0.15:
        return str(rng.choice(LEAVES))
    inner = [expression(rng, depth - 1) for _ in range(3)]
    kind = rng.integers(5)
    if kind == 0:
        return str(rng.choice(UNARY)).format(inner[0])
    if kind == 1:
        return f"{rng.choice(CALLS)}({inner[0]}, {inner[1]})"
    if kind == 2:
        return f"where({inner[0]}, {inner[1]}, {inner[2]})"
    return f"({inner[0]} {rng.choice(BINARY)} {inner[1]})"


def noise(rng: np.random.Generator) -> str:
    """Return a text that may be invalid: random letters, or a damaged expression."""
    if rng.random() < 0.5:
        return "".join(rng.choice(list(ALPHABET), int(rng.integers(0, 60))))
    text = expression(rng, 3)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(text) + 1))
        text = text[:at] + str(rng.choice(list(ALPHABET))) + text[at + int(rng.integers(2)) :]
    return text


def fuzz_expressions(devices: Sequence[gpuprims.Device], number: int, seed: int = 0) -> Report:
    """Compute expressions by the reference and some by devices, and as many texts that may be invalid."""
    report, rng = Report("fuzz expressions"), np.random.default_rng(seed)
    reference = gpuprims.Device("reference")
    for k in range(number):
        chosen = devices[k // ON_A_DEVICE % len(devices)] if k % ON_A_DEVICE == 0 else reference
        _compute(report, expression(rng, 3), _operands(rng), chosen)
        _refuse(report, noise(rng), _operands(rng))
    return report


def _operands(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {name: rng.integers(0, 9, 7).astype(str(rng.choice(DTYPES))) for name in "xy"}


def _compute(report: Report, text: str, operands: dict[str, np.ndarray], device: gpuprims.Device) -> None:
    label = f"{text!r} of {', '.join(str(array.dtype) for array in operands.values())} on {device.spec}"
    used = {name: operands[name] for name in set(re.findall(r"\b[xy]\b", text))}
    if not used:
        return
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected: Any = None
        try:
            expected = eval(text, SCOPE, dict(operands))  # noqa: S307 - built of the words above
        except (TypeError, ValueError, ArithmeticError):  # NumPy refuses: so may the call
            report.count("that NumPy refuses")
        try:
            got = np.asarray(gpuprims.map(text, device=device, **used))
        except (ExpressionError, DtypeError):
            report.count("refused")
            return
        except Exception as error:  # whatever else comes is a failure
            report.fail(label, error)
            return
    report.count("computed")
    if expected is not None and (wrong := _difference(got, expected)):
        report.fail(label, wrong)


def _difference(got: np.ndarray, expected: Any) -> str | None:
    """Return the difference from NumPy's result, or None; roots and powers may round differently."""
    expected = np.asarray(expected)
    if got.dtype != expected.dtype:
        return f"dtype {expected.dtype}; got {got.dtype}"
    got, expected = np.broadcast_arrays(got, expected)
    if expected.dtype.kind != "f":
        return None if np.array_equal(got, expected) else f"{expected}; got {got}"
    eps = float(np.finfo(expected.dtype).eps)
    close = np.allclose(got.astype("f8"), expected.astype("f8"), rtol=8 * eps, atol=0, equal_nan=True)
    return None if close else f"{expected}; got {got}"


def _refuse(report: Report, text: str, operands: dict[str, np.ndarray]) -> None:
    report.count("of noise")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            gpuprims.map(text, *operands.values(), device="reference")
        except GpuprimsError:
            return
        except Exception as error:  # whatever else comes is a failure
            report.fail(f"noise {text!r}", error)


def fuzz_models(number: int, seed: int = 0) -> Report:
    """Load damaged files: each raises an error of the library, or its model predicts."""
    report, rng = Report("fuzz model files"), np.random.default_rng(seed)
    X = rng.standard_normal((60, 4))
    model = LogReg(backend="reference", max_iter=20).fit(X, X[:, 0] > 0)
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.npz")
        model.save(path)
        whole = path.read_bytes()
        for _ in range(number):
            damage = DAMAGES[int(rng.integers(len(DAMAGES)))]
            path.write_bytes(damage(rng, whole))
            _load(report, damage.__name__, path)
    return report


def _load(report: Report, label: str, path: Path) -> None:
    report.count("files")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LogReg.load(path, backend="reference")
            label += f", loaded with {model.n_features_in_} features"
            X = np.ones((9, model.n_features_in_))
            predicted = model.predict(X)
    except GpuprimsError as error:
        report.count("refused")
        if path.name not in str(error):
            report.fail(label, f"an error that names the file; got {error}")
        return
    except Exception as error:  # whatever else comes is a failure
        report.fail(label, error)
        return
    if predicted.shape != (9,):
        report.fail(label, f"9 predictions; got {predicted.shape}")


def flipped(rng: np.random.Generator, whole: bytes) -> bytes:
    """Change some bytes."""
    changed = bytearray(whole)
    for at in rng.integers(0, len(whole), int(rng.integers(1, 9))):
        changed[at] ^= int(rng.integers(1, 256))
    return bytes(changed)


def cut(rng: np.random.Generator, whole: bytes) -> bytes:
    """Keep the beginning alone."""
    return whole[: int(rng.integers(0, len(whole)))]


def rewritten(rng: np.random.Generator, whole: bytes) -> bytes:
    """Change bytes of a member, with a right checksum."""

    def damage(name: str, member: bytes) -> bytes:
        return flipped(rng, member)

    return _archive(rng, whole, damage)


def reshaped(rng: np.random.Generator, whole: bytes) -> bytes:
    """Replace a member by an array of another shape or dtype, or one that is not finite."""

    def damage(name: str, member: bytes) -> bytes:
        shape = tuple(rng.integers(0, 6, int(rng.integers(0, 3))))
        array = rng.standard_normal(shape) * rng.choice([1, np.nan, np.inf])
        written = io.BytesIO()
        with np.errstate(invalid="ignore"):
            np.save(written, array.astype(str(rng.choice(["f8", "f4", "i4", "c16", "U3"]))))
        return written.getvalue()

    return _archive(rng, whole, damage)


def missing(rng: np.random.Generator, whole: bytes) -> bytes:
    """Leave a member out."""
    return _archive(rng, whole, lambda name, member: None)


def _archive(rng: np.random.Generator, whole: bytes, damage: Callable[[str, bytes], bytes | None]) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as source, zipfile.ZipFile(written, "w") as target:
        names = source.namelist()
        chosen = names[int(rng.integers(len(names)))]
        for name in names:
            member = source.read(name)
            damaged = damage(name, member) if name == chosen else member
            if damaged is not None:
                target.writestr(name, damaged)
    return written.getvalue()


DAMAGES = (flipped, cut, rewritten, reshaped, missing)
