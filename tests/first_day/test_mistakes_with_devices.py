"""Mistakes of a first day: devices, variants and plans."""

from __future__ import annotations

import numpy as np
import pytest
from mistakes import Mistake, check

import gpuprims
from gpuprims import errors
from gpuprims.models import LogReg

X = np.arange(6.0).reshape(2, 3)

MISTAKES: dict[str, Mistake] = {
    "misspelt cuda": (
        lambda: gpuprims.reduce(X, device="cudda"), errors.UnknownDeviceError,
        ("one of gpu, cpu, cuda, opencl,", "'cudda'", "did you mean 'cuda'?"),
    ),
    "misspelt opencl": (
        lambda: gpuprims.reduce(X, device="openlc:cpu"), errors.UnknownDeviceError,
        ("one of gpu, cpu, cuda, opencl,", "'openlc:cpu'", "did you mean 'opencl:cpu'?"),
    ),
    "device number": (
        lambda: gpuprims.reduce(X, device=0), errors.UnknownDeviceError,
        ("a Device or a spec such as", "0", "write 'cuda:0' or 'opencl:0'"),
    ),
    "device list": (
        lambda: gpuprims.reduce(X, device=["cuda"]), errors.UnknownDeviceError,
        ("a Device or a spec such as", "['cuda']"),
    ),
    "torch device": (
        lambda: gpuprims.reduce(X, device="mps"), errors.UnknownDeviceError,
        ("one of gpu, cpu, cuda, opencl,", "'mps'", "did you mean 'opencl:gpu'?"),
    ),
    "use_device typo": (
        lambda: gpuprims.use_device("referense"), errors.UnknownDeviceError,
        ("one of gpu, cpu, cuda, opencl,", "'referense'", "did you mean 'reference'?"),
    ),
    "Device of a number": (
        lambda: gpuprims.Device(0), errors.UnknownDeviceError,
        ("a Device or a spec such as", "0", "write 'cuda:0' or 'opencl:0'"),
    ),
    "misspelt variant": (
        lambda: gpuprims.reduce(X, variant="nunpy"), errors.UnknownVariantError,
        ("a variant among 'numpy'", "'nunpy'", "did you mean 'numpy'?"),
    ),
    "variant with primitive": (
        lambda: gpuprims.reduce(X, variant="reduce/numpy"), errors.UnknownVariantError,
        ("a variant among 'numpy'", "'reduce/numpy'", "did you mean 'numpy'?"),
    ),
    "misspelt primitive of plan": (
        lambda: gpuprims.plan("redcue", X), errors.ArgumentError,
        ("a function among map, reduce,", "'redcue'", "did you mean 'reduce'?"),
    ),
    "misspelt function of explain": (
        lambda: gpuprims.explain("argsrt"), errors.ArgumentError,
        ("explain: a primitive among map, reduce,", "'argsrt'", "did you mean 'argsort'?"),
    ),
    "side_by_side a word": (
        lambda: gpuprims.explain("reduce", side_by_side="no"), errors.ArgumentError,
        ("explain: side_by_side= True or False", "'no'"),
    ),
    "misspelt primitive of explain": (
        lambda: gpuprims.explain("histgram"), errors.ArgumentError,
        ("a primitive among map, reduce,", "'histgram'", "did you mean 'histogram'?"),
    ),
    "plan of a function": (
        lambda: gpuprims.plan(gpuprims.reduce, X), errors.ArgumentError,
        ("a function among map, reduce,", "<function reduce>", "did you mean 'reduce'?"),
    ),
    "plan without arrays": (
        lambda: gpuprims.plan("reduce"), errors.ArgumentError,
        ("at least one array", "none"),
    ),
    "plan called with other shape": (
        lambda: gpuprims.plan("reduce", X)(X[0]), errors.ArgumentError,
        ("arrays laid out as planned,", "float64[3] with strides", "make a plan for these"),
    ),
    "plan called with other dtype": (
        lambda: gpuprims.plan("reduce", X)(X.astype("f4")), errors.ArgumentError,
        ("arrays laid out as planned,", "float32[2, 3] with", "make a plan for these"),
    ),
    "plan called without arrays": (
        lambda: gpuprims.plan("reduce", X)(), errors.ArgumentError,
        ("arrays laid out as planned,", "none"),
    ),
    "item of an array": (
        lambda: gpuprims.plan("map", "x+1", X).item(X), errors.ArgumentError,
        ("results of shape () for item()", "[(2, 3)]"),
    ),
    "plan of map without function": (
        lambda: gpuprims.plan("map", X), errors.ExpressionError,
        ("a Python function or a string", "ndarray", "the function is the first argument, before"),
    ),
    "plan of no function": (
        lambda: gpuprims.plan("blurr", X), errors.ArgumentError,
        ("a function among map, reduce,", "'blurr'", "did you mean 'blur'?"),
    ),
    "plan of blur by a wrong keyword": (
        lambda: gpuprims.plan("blur", X, sgima=2), errors.UnknownKeywordError,
        ("keywords among kind, size,", "sgima", "did you mean 'sigma'?"),
    ),
    "plan of bincount of nothing": (
        lambda: gpuprims.plan("bincount"), errors.ArgumentError,
        ("at least one array", "none"),
    ),
    "hash_counts keyword": (
        lambda: gpuprims.hash_counts(["a"], 16, nfeatures=3), errors.UnknownKeywordError,
        ("keywords among documents,", "nfeatures", "did you mean 'n_features'?"),
    ),
    "plan of stencil without weights": (
        lambda: gpuprims.plan("stencil", X), errors.ArgumentError,
        ("an array and its weights", "1 argument(s)"),
    ),
    "plan of compact without mask": (
        lambda: gpuprims.plan("compact", X), errors.ArgumentError,
        ("an array and a mask", "1 argument(s)"),
    ),
    "plan of stencil of nothing": (
        lambda: gpuprims.plan("stencil"), errors.ArgumentError,
        ("at least one array", "none"),
    ),
    "plan of histogram of nothing": (
        lambda: gpuprims.plan("histogram"), errors.ArgumentError,
        ("at least one array", "none"),
    ),
    "plan of map of nothing": (
        lambda: gpuprims.plan("map"), errors.ArgumentError,
        ("at least one array", "none"),
    ),
    "plan of compact of nothing": (
        lambda: gpuprims.plan("compact"), errors.ArgumentError,
        ("at least one array", "none"),
    ),
    "plan of scan of nothing": (
        lambda: gpuprims.plan("scan"), errors.ArgumentError,
        ("at least one array", "none"),
    ),
    "X a dictionary": (
        lambda: LogReg().fit({"a": 1}, [0]), errors.DtypeError,
        ("features that are numbers", "a dict", "pass an array of samples by features: each argument must"),
    ),
    "plan by a wrong keyword of segments": (
        lambda: gpuprims.plan("reduce", X, segment=[0, 3]), errors.UnknownKeywordError,
        ("keywords among op, map, axis,", "segment", "did you mean 'segments'?"),
    ),
    "op integer": (
        lambda: gpuprims.reduce(X, op=3), errors.UnknownOperatorError,
        ("an Op or one of sum, prod, mean,", "3"),
    ),
    "dtype of bools": (
        lambda: gpuprims.map("x - y", X > 1, X > 2), errors.DtypeError,
        ("dtypes that NumPy's function takes", "bool and bool", "write x != y, or convert, such as int64(x)"),
    ),
    "explain device": (
        lambda: gpuprims.explain("reduce", "cudaa"), errors.UnknownDeviceError,
        ("one of gpu, cpu, cuda, opencl,", "'cudaa'", "did you mean 'cuda'?"),
    ),
    "explain dtype": (
        lambda: gpuprims.explain("reduce", dtype="flot"), errors.DtypeError,
        ("a dtype that NumPy knows", "'flot'", "did you mean 'float64' or 'float32'?"),
    ),
    "explain size": (
        lambda: gpuprims.explain("reduce", size=-1), errors.ArgumentError,
        ("size= a whole number from 0 on", "-1"),
    ),
    "argmax of two axes": (
        lambda: gpuprims.histogram(X, axis=2), errors.AxisError,
        ("from -2 to 1 for 2 dimension(s)", "2"),
    ),
    "vector count": (
        lambda: gpuprims.map(lambda p: p[0], np.zeros((2, 40)), vector_axis=1), errors.ArgumentError,
        ("from 1 to 16 elements along", "40 in (2, 40)"),
    ),
    "register a name": (
        lambda: gpuprims.register("map"), errors.RegistryError,
        ("a gpuprims.Variant", "str 'map'"),
    ),
    "text with vector axis": (
        lambda: gpuprims.map("p + 1", X, vector_axis=-1), errors.ExpressionError,
        ("components p[0] to p[", "got p in 'p + 1'"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_says_the_rule_what_was_got_and_what_to_do(name: str) -> None:
    check(MISTAKES[name])
