"""Run every OpenCL kernel on Oclgrind's simulated device, and fail on any report.

``make oclgrind`` runs this program in an environment of its own, in which Oclgrind's is an OpenCL device. The simulator
watches each memory access: it reports data races, reads of memory that was never written, and accesses out of bounds.
Kernels that are wrong on purpose (``faulty/``) run first, to show that it does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from oclgrind_reports import SUFFIX

HERE = Path(__file__).parent
# What the report on each faulty kernel says.
EXPECTED = {
    "data_race.cl": "data race",
    "out_of_bounds.cl": "Invalid read",
    "uninitialised.cl": "uninitialized value",
}
DEVICE = "opencl:oclgrind"


def report_of(arguments: list[str]) -> tuple[int, str, list[str]]:
    """Run Python under the simulator's watch; return its exit code, the report and the tests it is on."""
    with TemporaryDirectory() as folder:
        log = Path(folder, "report")
        watching = {
            "OCLGRIND_DATA_RACES": "1",
            "OCLGRIND_UNINITIALIZED": "1",
            "OCLGRIND_LOG": str(log),
            # Optimised, LLVM writes instructions that Oclgrind cannot follow. LOOKS: groups run one after the other, so
            # those that wait for a later one wait in vain. CALLS: portable functions are called, not inlined.
            "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable -DLOOKS=4 -DCALLS",
            "GPUPRIMS_TEST_DEVICES": DEVICE,
            "GPUPRIMS_CACHE_DIR": "off",  # a kernel from the disk has no lines to report
        }
        paths = os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))
        env = os.environ | watching | {"PYTHONPATH": paths}
        finished = subprocess.run([sys.executable, *arguments], env=env, cwd=HERE.parent, check=False)
        written = {one: one.read_text().strip() for one in sorted(Path(folder).iterdir())}  # of each worker
        reports = [text for one, text in written.items() if text and one.suffix != SUFFIX]
        tests = [test for one, text in written.items() if one.suffix == SUFFIX for test in text.splitlines()]
        return finished.returncode, "\n".join(reports), tests


def run_faulty(name: str) -> None:
    """Run a kernel that is wrong on purpose, in groups of 64."""
    import numpy as np
    import pyopencl as cl

    import gpuprims

    driver = gpuprims.Device(DEVICE).driver
    data = cl.Buffer(driver.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.ones(128, np.int32))
    program = cl.Program(driver.context, (HERE / "faulty" / name).read_text()).build()
    program.faulty(driver.queue, (128,), (64,), data)
    driver.queue.finish()


def missed() -> list[str]:
    """Return the faults that the simulator was shown and did not report."""
    reports = {name: report_of([__file__, name])[1] for name in EXPECTED}
    return [
        f"{name}: no report of {words!r}, but {reports[name]!r}"
        for name, words in EXPECTED.items()
        if words not in reports[name]
    ]


def main(asked: list[str]) -> int:
    """Run the tests, all their combinations if ``--whole`` is asked for; return the program's exit code."""
    if unseen := missed():
        print("Oclgrind does not see these faults, so its silence would mean nothing:", *unseen, sep="\n  ")
        return 1
    two = ("-n", "2", "--dist", "worksteal")
    marked = [str(path) for path in sorted(HERE.rglob("test_*.py")) if "pytest.mark.oclgrind" in path.read_text()]
    run = ("-m", "pytest", "-m", "oclgrind", "-p", "no:cacheprovider", "-p", "oclgrind_reports")
    code, report, tests = report_of([*run, *asked, *two, *marked])
    if tests:
        # After some thousand buffers Oclgrind may take a new one's memory for that of an earlier one. It simulates each
        # test alike, so a fault shows again by itself.
        print("Reports on these tests, which run again by themselves:", *tests, sep="\n  ")
        again, report, _ = report_of([*run, "--whole", *tests])
        code = code or again
    if report:
        print(f"Oclgrind reports:\n{report}")
    verdict = "reports faults" if report else "tests fail" if code else "nothing to report"
    print(f"Oclgrind saw each of {len(EXPECTED)} faults shown to it; of this library's kernels: {verdict}")
    return 1 if report else code


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in EXPECTED:
        run_faulty(sys.argv[1])
    else:
        sys.exit(main(sys.argv[1:]))
