"""Run every CUDA kernel under compute-sanitizer, by each of its tools, and fail on any report.

``make sanitize`` runs this program where there is an NVIDIA GPU. First each tool is shown a kernel that is wrong on
purpose (``faulty/``), after a test in the same process: its silence about the others then means something. CuPy's
memory pool would hide accesses out of bounds, so each array has memory of its own. The sanitizer does not follow
pytest's workers, so each part of the tests is a process that it starts itself.
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
# What each tool says of a faulty kernel.
EXPECTED = {
    "memcheck": ("out_of_bounds.cu", "Invalid __global__ read"),
    "racecheck": ("data_race.cu", "hazard"),
    "initcheck": ("uninitialised.cu", "Uninitialized"),
    "synccheck": ("divergent_barrier.cu", "Barrier error"),
}
PARTS = 4  # of the tests, for each tool; all run at the same time
# Every test that is marked ``oclgrind``; tests/test_architecture.py checks that these are all.
PATHS = ("tests/backends/watched", "tests/primitives/reduce/test_each.py", "tests/test_fingerprints.py")
TESTS = (*PATHS, "-m", "oclgrind", "--whole", "-q")
PLUGINS = ("-p", "tests.sanitizer", "-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "no:xdist")


def pytest_configure() -> None:
    """Give each array memory of its own; pytest calls this where this file is a plug-in."""
    import cupy

    cupy.cuda.set_allocator(None)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave this process its part of the tests, or one before a faulty kernel."""
    # Of what bulk copies write to global memory, initcheck sees the first 32 of every 512 bytes alone, and calls the
    # rest of results that are right uninitialised. The other tools watch that kernel.
    if os.environ["GPUPRIMS_SANITIZER"] == "initcheck":
        items[:] = [one for one in items if "queues" not in one.name]
    items[:] = items[int(os.environ["GPUPRIMS_SANITIZER_PART"]) :: PARTS]
    if "GPUPRIMS_SANITIZER_FAULT" in os.environ:
        del items[1:]


def pytest_unconfigure() -> None:
    """Run the faulty kernel that is asked for, behind the tests."""
    if name := os.environ.get("GPUPRIMS_SANITIZER_FAULT"):
        run_faulty(name)


def report_of(tool: str, part: int = 0, **more: str) -> tuple[int, str, str]:
    """Run a part of the tests under a tool's watch; return the exit code, what it printed, and the tool's report."""
    with TemporaryDirectory() as folder:
        log = Path(folder, "log")
        watched = {"GPUPRIMS_SANITIZER": tool, "GPUPRIMS_SANITIZER_PART": str(part), "GPUPRIMS_TEST_DEVICES": "cuda:0"}
        tests = [sys.executable, "-m", "pytest", *PLUGINS, *TESTS]
        finished = subprocess.run(
            ["compute-sanitizer", "--tool", tool, "--log-file", str(log), *tests],  # noqa: S607 - where the toolkit is
            env=os.environ | watched | more,
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
    """Run a kernel that is wrong on purpose, by two warps, on 256 bytes that were written and as many that were not."""
    import cupy

    data = cupy.empty(128, cupy.int32)
    data[:64] = 1
    cupy.RawKernel((HERE / "faulty" / name).read_text(), "faulty")((1,), (64,), (data,))
    try:
        cupy.cuda.runtime.deviceSynchronize()
    except cupy.cuda.runtime.CUDARuntimeError as error:  # the tool ends the kernel
        print(error)


def misses(tool: str) -> str:
    """Return what is wrong with a tool that does not see the fault shown to it, or nothing."""
    name, words = EXPECTED[tool]
    seen = report_of(tool, GPUPRIMS_SANITIZER_FAULT=name)[2]
    return "" if words in seen else f"{tool}: no report of {words!r} for {name}, so its silence means nothing: {seen!r}"


def watched(task: tuple[str, int]) -> tuple[bool, str]:
    """Run a part of the tests; return whether it is clean, and what to print."""
    tool, part = task
    code, printed, report = report_of(tool, part)
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
    sys.exit(main())
