"""Run every CUDA kernel under each tool of compute-sanitizer, and fail on any report.

``make sanitize`` runs this program where there is an NVIDIA GPU. Kernels that are wrong on purpose (``faulty/``) run
first, to show that each tool finds its kind of fault. CuPy's memory pool would hide accesses out of bounds, so each
array has memory of its own. The sanitizer does not follow pytest's workers, so it starts a process for each part of the
tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

HERE = Path(__file__).parent
# Part of each tool's report on a faulty kernel.
EXPECTED = {
    "memcheck": ("out_of_bounds.cu", "Invalid __global__ read"),
    "racecheck": ("data_race.cu", "hazard"),
    "initcheck": ("uninitialised.cu", "Uninitialized"),
    "synccheck": ("divergent_barrier.cu", "Barrier error"),
}
PARTS = 4  # of the tests, for each tool; all run at the same time
TESTS = ("tests/test_oclgrind_kernels.py", "tests/test_reduce_each.py", "-m", "oclgrind", "--whole", "-q")
PLUGINS = ("-p", "tests.sanitizer", "-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "no:xdist")


def pytest_configure() -> None:
    """Give each array memory of its own; pytest calls this where this file is a plug-in."""
    import cupy

    cupy.cuda.set_allocator(None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep this process's part of the tests."""
    items[:] = items[int(os.environ["GPUPRIMS_SANITIZER_PART"]) :: PARTS]


def report_of(tool: str, arguments: tuple[str, ...], part: int = 0) -> tuple[int, str, str]:
    """Run Python under a tool; return its exit code, its output, and the tool's report, "" if it is clean."""
    with TemporaryDirectory() as folder:
        log = Path(folder, "log")
        watched = {"GPUPRIMS_SANITIZER": tool, "GPUPRIMS_SANITIZER_PART": str(part), "GPUPRIMS_TEST_DEVICES": "cuda:0"}
        finished = subprocess.run(
            ["compute-sanitizer", "--tool", tool, "--log-file", str(log), sys.executable, *arguments],  # noqa: S607 - wherever the toolkit is
            env=os.environ | watched,
            cwd=HERE.parent,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        report = log.read_text().strip() if log.exists() else ""
        counts = re.findall(r"SUMMARY: (\d+) (?:error|hazard)", report)
        clean = bool(counts) and not any(map(int, counts))
        return finished.returncode, finished.stdout, "" if clean else report or f"{tool} left no report"


def run_faulty(name: str) -> None:
    """Run a faulty kernel with two warps on 256 written and 256 unwritten bytes."""
    import cupy

    cupy.cuda.set_allocator(None)
    data = cupy.empty(128, cupy.int32)
    data[:64] = 1
    cupy.RawKernel((HERE / "faulty" / name).read_text(), "faulty")((1,), (64,), (data,))
    try:
        cupy.cuda.runtime.deviceSynchronize()
    except cupy.cuda.runtime.CUDARuntimeError as error:  # the tool ends the kernel
        print(error)


def misses(tool: str) -> str:
    """Return a message if a tool does not report its faulty kernel, else ""."""
    name, words = EXPECTED[tool]
    seen = report_of(tool, (__file__, name))[2]
    return "" if words in seen else f"{tool}: no report of {words!r} for {name}, so its silence means nothing: {seen!r}"


def watched(task: tuple[str, int]) -> tuple[bool, str]:
    """Run a part of the tests under a tool; return True if it is clean, and a text to print."""
    tool, part = task
    code, printed, report = report_of(tool, ("-m", "pytest", *PLUGINS, *TESTS), part)
    summary = (printed.strip().splitlines() or ["nothing printed"])[-1]
    verdict = "reports faults" if report else f"pytest exits with {code}" if code else "nothing to report"
    details = [report[:8_000], *([printed[-8_000:]] if code else [])]
    text = f"{tool}, part {part + 1} of {PARTS}: {verdict} ({summary})"
    return not report and not code, text if verdict == "nothing to report" else "\n".join([text, *details])


def main() -> int:
    """Return the program's exit code."""
    asked = sys.argv[1:] or list(EXPECTED)
    if unseen := [found for tool in asked if (found := misses(tool))]:
        print(*unseen, sep="\n")
        return 1
    print(f"each of {', '.join(asked)} saw the fault shown to it", flush=True)
    clean = True
    with ThreadPoolExecutor(len(asked) * PARTS) as pool:
        for good, text in pool.map(watched, [(tool, part) for tool in asked for part in range(PARTS)]):
            print(text, flush=True)
            clean &= good
    return 0 if clean else 1


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].endswith(".cu"):
        run_faulty(sys.argv[1])
    else:
        sys.exit(main())
