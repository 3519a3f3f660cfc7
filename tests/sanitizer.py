"""Run every CUDA kernel under compute-sanitizer, by each of its tools, and fail on any report.

``make sanitize`` runs this program where there is an NVIDIA GPU. Kernels that are wrong on purpose (``faulty/``) run
first, to show that each tool sees what it is there for. CuPy's memory pool would hide accesses out of bounds, so that
each array has memory of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
# What each tool says of a faulty kernel.
EXPECTED = {
    "memcheck": ("out_of_bounds.cu", "Invalid __global__ read"),
    "racecheck": ("data_race.cu", "hazard"),
    "initcheck": ("uninitialised.cu", "Uninitialized"),
    "synccheck": ("divergent_barrier.cu", "divergent"),
}
PROCESSES = "3"  # of each tool, all of which run at the same time


def pytest_configure() -> None:
    """Give each array memory of its own; pytest calls this in every process that has this file as a plug-in."""
    import cupy

    cupy.cuda.set_allocator(None)


def report_of(tool: str, arguments: list[str]) -> tuple[int, str, str]:
    """Run Python under a tool's watch; return its exit code, what it printed, and the tool's reports."""
    with TemporaryDirectory() as folder:
        watch = ["compute-sanitizer", "--tool", tool, "--target-processes", "all", "--log-file", f"{folder}/%p"]
        environment = os.environ | {"GPUPRIMS_SANITIZER": tool, "GPUPRIMS_TEST_DEVICES": "cuda:0"}
        finished = subprocess.run(
            [*watch, sys.executable, *arguments],
            env=environment,
            cwd=HERE.parent,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        reports = [found for path in sorted(Path(folder).iterdir()) if (found := findings(path.read_text()))]
        return finished.returncode, finished.stdout, "\n".join(reports)


def findings(log: str) -> str:
    """Return the report of one process, or nothing where its summary counts nothing."""
    counts = [int(count) for count in re.findall(r"SUMMARY: (\d+) (?:error|hazard)", log)]
    return log.strip() if any(counts) else ""


def run_faulty(name: str) -> None:
    """Run a kernel that is wrong on purpose, by two warps, on 256 bytes that were written and as many that were not."""
    import cupy

    cupy.cuda.set_allocator(None)
    data = cupy.empty(128, cupy.int32)
    data[:64] = 1
    cupy.RawKernel((HERE / "faulty" / name).read_text(), "faulty")((1,), (64,), (data,))
    try:
        cupy.cuda.runtime.deviceSynchronize()
    except cupy.cuda.runtime.CUDARuntimeError as error:  # the tool ends the kernel
        print(error)


def watched(tool: str) -> tuple[str, bool]:
    """Return what to print of a tool, and whether it saw the fault shown to it and nothing else."""
    name, words = EXPECTED[tool]
    if words not in (seen := report_of(tool, [__file__, name])[2]):
        return f"{tool}: no report of {words!r} for {name}, so its silence would mean nothing: {seen!r}", False
    several = ["-n", PROCESSES, "--dist", "worksteal", "-p", "no:cacheprovider", "-p", "tests.sanitizer", "-q"]
    tests = ["tests/test_oclgrind_kernels.py", "tests/test_reduce_each.py", "-m", "oclgrind"]
    code, printed, report = report_of(tool, ["-m", "pytest", *several, *tests])
    verdict = "reports faults" if report else f"pytest exits with {code}" if code else "nothing to report"
    summary = (printed.strip().splitlines() or ["printed nothing"])[-1]
    text = f"{tool} saw the fault shown to it; of this library's kernels: {verdict} ({summary})"
    return "\n".join([text, report[:20_000], *([printed[-8_000:]] if code else [])]), not report and code == 0


def main() -> int:
    """Return the program's exit code."""
    asked = sys.argv[1:] or list(EXPECTED)
    with ThreadPoolExecutor() as pool:
        verdicts = list(pool.map(watched, asked))
    print("\n".join(text for text, _ in verdicts))
    return 0 if all(clean for _, clean in verdicts) else 1


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].endswith(".cu"):
        run_faulty(sys.argv[1])
    else:
        sys.exit(main())
