"""Write docs/devices.md, which lists what is tested for each class of devices, from the tables of the tests.

``python tests/device_page.py`` writes the page.
"""

from __future__ import annotations

from pathlib import Path

from device_doubles import CLASSES, DeviceClass
from device_matrix import WORKS, Work

PAGE = Path(__file__).parents[1] / "docs" / "devices.md"

_HEAD = """# GPUs of other vendors

gpuprims is measured on NVIDIA GPUs and on CPUs. For the other GPUs below, the tests simulate devices. A
simulated device is the OpenCL driver of a CPU with the limits of such a GPU. It

- does not compile a kernel that uses a feature that the GPU lacks: `double`, 64-bit atomics, shuffles;
- refuses to launch a kernel whose groups are larger, or use more local memory, than the GPU allows;
- refuses an array that is larger than the GPU allows.

The tests compare results with NumPy's. They show that each call has a kernel that the GPU can run, and that the
kernel gives NumPy's results. They do not test the kernel's speed or the vendor's compiler.

## Classes

"""
_WORK = """
## Dtypes that compute

"all" means every dtype that the call takes. A dtype that is not listed raises `NoVariantError`. The first line of
the message names what the device lacks:

    map: a variant able to run the call; got a refusal: needs float64, which Mali GPU does not compute in (convert
    to float32)

"""
_NOTES = """
## On every class

- The kernel of a call with 32-bit and smaller dtypes contains no `double`, unless NumPy computes the result in
  float64, such as the mean of integers. A device without float64 refuses such a call.
- Kernels are compiled for the device's sub-group size. Intel's drivers let a kernel ask for a size; the tests run
  sizes of 4, 8, 16, 32 and 64 on Intel's CPU runtime. A kernel with shuffles refuses sub-groups that are too small
  for it, and another kernel runs.
- On a device without forward progress, kernels whose groups wait for each other do not run; other kernels run.
- An array larger than the device allows raises `DeviceMemoryError` with the limit. `map`, `reduce`, `scan`,
  `compact`, `stencil`, `blur`, `histogram` and `bincount` process large host arrays in slabs.
- A device needs groups of 256 work-items. gpuprims refuses calls on a device with smaller groups, with the reason.

`tests/core/test_device_classes.py` and `tests/backends/test_subgroup_widths.py` are the tests.
`python tests/device_page.py` writes this page from their tables.
"""


def page() -> str:
    """Return the page."""
    classes = [f"| {kind.name} | {kind.about} |" for kind in CLASSES]
    columns = " | ".join(kind.name for kind in CLASSES)
    works = [
        f"| {work.name} (`{work.calls}`) | {' | '.join(_cell(work, kind) for kind in CLASSES)} |" for work in WORKS
    ]
    return "".join(
        [
            _HEAD,
            _lines(["| class | features and limits |", "| --- | --- |", *classes]),
            _WORK,
            _lines([f"| call | {columns} |", "| --- |" + " --- |" * len(CLASSES), *works]),
            _NOTES,
        ]
    )


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _cell(work: Work, kind: DeviceClass) -> str:
    """Return the dtypes of a call that a class of devices computes."""
    computed = [name for name in work.dtypes if work.lacks(kind, name) is None]
    if len(computed) == len(work.dtypes):
        return "all"
    lacking = {reason for name in work.dtypes if (reason := work.lacks(kind, name)) is not None}
    if not computed:
        return f"none: needs {' and '.join(sorted(lacking))}"
    if len(computed) < len(work.dtypes) / 2:
        return ", ".join(computed)
    return f"all but {', '.join(name for name in work.dtypes if name not in computed)}"


if __name__ == "__main__":
    PAGE.write_text(page())
