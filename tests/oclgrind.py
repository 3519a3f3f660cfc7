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

HERE = Path(__file__).parent
# What the report on each faulty kernel says.
EXPECTED = {
    "data_race.cl": "data race",
    "out_of_bounds.cl": "Invalid read",
    "uninitialised.cl": "uninitialized value",
}
DEVICE = "opencl:oclgrind"


def report_of(arguments: list[str]) -> tuple[int, str]:
    """Run Python under the simulator's watch; return its exit code and the simulator's report."""
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
        finished = subprocess.run([sys.executable, *arguments], env=os.environ | watching, cwd=HERE.parent, check=False)
        reports = [one.read_text().strip() for one in sorted(Path(folder).iterdir())]  # one of each worker
        return finished.returncode, "\n".join(report for report in reports if report)


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
    code, report = report_of(["-m", "pytest", *asked, "-m", "oclgrind", "-p", "no:cacheprovider", *two, *marked])
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
