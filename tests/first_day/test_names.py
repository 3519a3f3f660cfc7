"""Names that a user tries on a first day: attributes, kinds of devices, the environment, the command line, help."""

from __future__ import annotations

import importlib
import inspect
import pydoc

import numpy as np
import pytest

import gpuprims
from gpuprims import errors
from gpuprims.cli import main as cli
from gpuprims.core import device_specs
from gpuprims.errors import did_you_mean
from gpuprims.models import LogReg

X = np.arange(6.0)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("histogramm", "'histogram'"), ("sum", 'reduce(x, op="sum")'), ("argmax", 'reduce(x, op="argmax")')],
)
def test_a_name_that_gpuprims_lacks_says_what_to_write(name: str, meant: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(gpuprims, name)
    assert f"has no attribute '{name}'" in str(raised.value)
    assert meant in str(raised.value)


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [
        ("models", "LogRegg", "'LogReg'"),
        ("models", "LogisticRegression", "'LogReg'"),
        ("datasets", "read_feature", "'read_features'"),
        ("distributed", "DevicesGroup", "'DeviceGroup'"),
        ("errors", "ShapesError", "'ShapeError'"),
        ("ndimage", "gaussian", "'gaussian_filter'"),
        ("xp", "amax", "'max'"),
    ],
)
def test_a_name_that_a_module_lacks_says_what_to_write(module: str, name: str, meant: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(importlib.import_module(f"gpuprims.{module}"), name)
    assert str(raised.value).startswith(f"module 'gpuprims.{module}' has no attribute '{name}' (did you mean {meant}")
    assert raised.value.name == name


@pytest.mark.parametrize("module", ["", ".models", ".datasets", ".distributed", ".errors", ".ndimage", ".xp"])
def test_a_protocol_that_a_module_lacks_gets_no_advice(module: str) -> None:
    with pytest.raises(AttributeError, match=rf"^module 'gpuprims{module}' has no attribute '__al__'$"):
        _ = importlib.import_module(f"gpuprims{module}").__al__  # near __all__


def test_a_name_that_is_like_no_other_gets_no_advice() -> None:
    assert did_you_mean("zzz", ["sum", "prod"]) == ""
    assert did_you_mean(object(), ["sum"]) == ""
    assert did_you_mean("s" * 1000, ["sum"]) == ""


@pytest.mark.parametrize("kind", ["gpu", "cpu", " CPU "])
def test_a_kind_of_device_is_a_spec(kind: str) -> None:
    able = [device for device in gpuprims.devices() if device.capabilities.kind == kind.strip().lower()]
    if able:
        assert gpuprims.Device(kind) is able[0]
    else:
        with pytest.raises(errors.UnknownDeviceError, match=r"device: a .PU, .*; got .* where gpuprims finds none"):
            gpuprims.Device(kind)


def test_a_kind_with_a_number_lists_the_devices_of_that_kind() -> None:
    with pytest.raises(errors.UnknownDeviceError, match="device: a CPU, as 'cpu' or by its spec; got 'cpu:99' where"):
        gpuprims.Device("cpu:99")


@pytest.mark.parametrize(
    ("spec", "meant"),
    [("opncl:cpu", "'opencl:cpu'"), ("cdua:0", "'cuda:0'"), ("gpuu", "'gpu'"), ("numpy", "'reference'")],
)  # fmt: skip
def test_the_environments_variable_is_the_label(monkeypatch: pytest.MonkeyPatch, spec: str, meant: str) -> None:
    monkeypatch.setenv("GPUPRIMS_DEVICE", spec)
    with gpuprims.use_device(None), pytest.raises(errors.UnknownDeviceError) as raised:
        gpuprims.reduce(X)
    assert str(raised.value).startswith("GPUPRIMS_DEVICE: one of gpu, cpu, cuda, opencl, reference")
    assert f"; got '{spec}' (did you mean {meant}?)" in str(raised.value)


def test_advice_about_devices_names_specs_that_are_understood() -> None:
    for meant in device_specs._INSTEAD.values():
        assert meant.partition(":")[0] in (*device_specs._KINDS, "cuda", "opencl", "reference")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["exlpain"], ["invalid choice: 'exlpain'", "did you mean 'explain'?"]),
        (["explain", "redcue"], ["invalid choice: 'redcue'", "did you mean 'reduce'?"]),
        (["explain", "reduce", "--devcie", "cpu"], ["--devcie cpu", "did you mean '--device'?"]),
        (["info", "--device", "cpu"], ["--device cpu", "an option of another command", "See gpuprims info --help"]),
        (["fingerprint", "--smoll"], ["--smoll (did you mean '--small'", "See gpuprims fingerprint --help"]),
        (["bench", "--lanscape"], ["--lanscape", "did you mean '--landscape'?"]),
        (["kernels", "shw"], ["invalid choice: 'shw'", "did you mean 'show'?"]),
        (["explain", "--size", "many"], ["--size", "'many'"]),
    ],
)  # fmt: skip
def test_the_command_line_suggests_commands_and_options(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    shown = capsys.readouterr().err
    assert [word for word in words if word not in shown] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "reduce", "--device", "reference", "--op", "mx"], ["op: an Op or one of", "did you mean 'max'?"]),
        (["explain", "reduce", "--device", "referense"], ["device: one of", "did you mean 'reference'?"]),
        (["explain", "reduce", "--device", "reference", "--dtype", "flot32"], ["did you mean 'float32'?"]),
        (["explain", "reduce", "--device", "reference", "--size=-5"], ["size= a whole number", "got -5"]),
        (["kernels", "show", "redcue/warp"], ["a primitive among", "did you mean 'reduce'?"]),
        (["kernels", "show", "reduce/wrap", "--device", "cuda"], ["a variant among", "did you mean 'warp'?"]),
    ],
)  # fmt: skip
def test_a_wrong_value_of_an_option_ends_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: list[str]
) -> None:
    assert cli.main(arguments) == 1
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert [word for word in words if word not in shown] == []


def test_errors_of_a_model_are_pythons_too() -> None:
    with pytest.raises(ValueError, match=r"^LogReg: solver= one of .*; got 'lbgfs' \(did you mean 'lbfgs'\?\)$"):
        LogReg("reference", solver="lbgfs").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(
        TypeError, match=r"^LogReg: features that are numbers; got a dict \(pass an array of samples by features: each"
    ):
        LogReg("reference").fit({"a": 1}, [0])


def test_help_shows_no_parameter_that_only_catches_mistakes() -> None:
    for name in gpuprims.__all__:
        found = getattr(gpuprims, name)
        if inspect.isfunction(found):
            parameters = inspect.signature(found).parameters
            assert "unknown" not in parameters
            assert "unknown" not in pydoc.render_doc(found).split("\n\n")[1].partition("->")[0]


def test_the_package_lists_its_public_names_alone() -> None:
    assert set(dir(gpuprims)) == {*gpuprims.__all__, "__version__"}
