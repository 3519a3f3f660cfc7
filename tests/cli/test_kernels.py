"""``gpuprims kernels``: the list, the texts and the pages."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

import gpuprims
from gpuprims.cli import kernels
from gpuprims.cli.main import main
from gpuprims.cli.text_driver import TextDriver
from gpuprims.core.registry import REGISTRY
from gpuprims.errors import BackendUnavailableError

GPU = "a GPU that is not here, with warps of 32 lanes"


def kernels_by_spec() -> list[tuple[str, str]]:
    return [
        (spec, f"{variant.primitive}/{variant.name}")
        for spec in ("cuda", "opencl:gpu", "opencl:cpu")
        for variant in kernels.kernels_of(spec.partition(":")[0])
        if variant.path.is_relative_to(kernels.PACKAGE) and ("cpu_" in variant.name) == (spec == "opencl:cpu")
    ]


@pytest.fixture
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide every device, as on a machine without drivers."""

    def absent(spec: str, *others: object) -> Any:
        raise BackendUnavailableError(spec, "hidden by a test", "none")

    monkeypatch.setattr("gpuprims.core.device.find_driver", absent)


@pytest.mark.whole
@pytest.mark.parametrize(("spec", "kernel"), kernels_by_spec())
def test_every_kernel_is_shown_without_a_device(spec: str, kernel: str, no_device: None) -> None:
    driver = kernels._driver(spec, 32)
    texts = kernels.texts_of(kernel, kernels.usual_call(kernel, "float32", 2**20, "sum"), driver)
    entry = kernel.replace("/", "_")
    for text in texts:
        assert re.search(rf'\n#line 1 "{entry}\.(cl|cu)"\n/\* {kernel}: ', text)
        assert text.startswith("#define BLOCK ")


def test_a_machine_without_a_gpu_shows_the_text_of_a_usual_one(
    no_device: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kernels", "show", "reduce/warp", "--device", "cuda"]) == 0
    shown = capsys.readouterr()
    assert "#define WARP 32\n" in shown.out
    assert "#define __kernel extern" in shown.out
    assert shown.err == f"reduce(float32[1048576], op=sum) on {GPU}\n"
    assert main(["kernels", "show", "reduce/warp", "--device", "opencl:gpu", "--warp", "64"]) == 0
    assert "#define WARP 64\n" in capsys.readouterr().out


def test_a_call_decides_what_is_compiled(no_device: None, capsys: pytest.CaptureFixture[str]) -> None:
    call = "reduce(int8[300, 20], op=max, axis=0)"
    assert main(["kernels", "show", "reduce", "--device", "cuda", "--call", call]) == 0
    text = capsys.readouterr().out
    assert "#define INPUTS GLOBAL const i8 *RESTRICT x0\n" in text
    assert main(["kernels", "show", "map", "--device", "cuda", "--dtype", "float64", "--size", "9"]) == 0
    assert "#define HAS_F64 1\n" in capsys.readouterr().out


@pytest.mark.parametrize("call", ["reduce(float32[100_000], op=max)", "scan(float64[1000], inclusive=False)"])
def test_the_text_is_what_the_devices_compiler_gets(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opencl_device = pytest.importorskip("gpuprims.backends.opencl.device")
    if not (found := [device for device in gpuprims.devices() if device.backend == "opencl"]):
        pytest.skip("there is no OpenCL device")
    real = found[0]
    written: list[str] = []
    original = opencl_device.kernel_source

    def listening(*how: Any) -> str:
        written.append(original(*how))
        return written[-1]

    monkeypatch.setattr(opencl_device, "kernel_source", listening)
    real._kernels.clear()
    function, arguments, keywords = kernels._parsed(call)
    function(*arguments, **keywords, device=real)
    assert kernels.texts_of(call.partition("(")[0], call, TextDriver("opencl", real.capabilities)) == written


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "kernels: a primitive among map, reduce"),
        (["reduce/nothing"], "a variant among"),
        (["reduce", "--call", "reduce(float32[8"], "kernels: a call such as 'reduce(float32"),
        (["reduce", "--call", "nothing(float32[8])"], "a primitive with a tuning case; got 'nothing'"),
        (["scan", "--call", "reduce(float32[8])"], "kernels: a call that runs scan; got 'reduce(float32[8])'"),
        (["reduce", "--device", "reference"], "kernels: a device of cuda or opencl; got 'reference'"),
        (["reduce", "--device", "cuda:99"], "cuda"),
    ],
)
def test_a_wrong_request_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    device = [] if "--device" in arguments else ["--device", "opencl:gpu"]
    assert main(["kernels", "show", *arguments, *device]) == 1
    assert message in capsys.readouterr().err


def test_the_list_has_every_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", "list"]) == 0
    headings, *lines = capsys.readouterr().out.splitlines()
    assert headings.split() == ["kernel", "backends", "what", "it", "does"]
    assert {line.partition("/")[0] for line in lines} == set(REGISTRY.primitive_names)
    (warp,) = (line for line in lines if line.startswith("reduce/warp "))
    assert "cuda, opencl  " in warp
    assert main(["kernels", "list", "--device", "cuda"]) == 0
    assert not [line for line in capsys.readouterr().out.splitlines() if "/cpu_" in line]


@pytest.mark.parametrize("backend", list(kernels.BACKENDS))
def test_the_pages_are_what_the_command_writes(
    backend: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = kernels.page_path(backend)
    assert page.read_text() == kernels.page_of(backend), f"run: {sys.executable} -m gpuprims kernels page {backend}"
    for variant in kernels.kernels_of(backend):
        if variant.path.is_relative_to(kernels.PACKAGE):
            assert f"[{variant.primitive}/{variant.name}](" in page.read_text()
    monkeypatch.setattr(kernels, "page_path", lambda name: tmp_path / name)
    monkeypatch.setattr(kernels, "page_of", lambda name: f"the page of {name}")
    assert main(["kernels", "page", backend]) == 0
    assert (tmp_path / backend).read_text() == f"the page of {backend}"
    assert str(tmp_path / backend) in capsys.readouterr().out
