"""docs/devices.md: what is proved for which class of devices, written from the table that the tests run.

``python tests/device_page.py`` writes the page.
"""

from __future__ import annotations

from pathlib import Path

from device_doubles import CLASSES, DeviceClass
from device_matrix import WORKS, Work

PAGE = Path(__file__).parents[1] / "docs" / "devices.md"

_HEAD = """# Devices

gpuprims is measured on NVIDIA GPUs and on CPUs. For the classes of GPUs below its kernels are tested by doubles: a CPU's OpenCL driver
that says it can do no more than such a GPU. A double

- compiles kernels after a text in which each word of what the GPU lacks is an error (`double`, atomics on 64 bits, shuffles);
- refuses to launch a kernel of a larger group, or of more local memory, than the GPU allows;
- refuses an array larger than the GPU allows.

Each result is compared with NumPy's. So what a page like this can prove is proved: that there is a kernel that the device can run, and
that it computes what NumPy does. What it cannot: that the vendor's compiler has no faults, and how fast the device is.

## Classes

"""
_WORK = """
## What is computed

A row is a work, a column a class. "all" stands for every dtype that the work takes. Other dtypes are refused, by a `NoVariantError` whose
first line names what the device lacks, such as

    reduce: a variant able to run the call; got a refusal: needs float64, which Mali GPU does not compute in (convert to float32)

"""
_NOTES = """
## What is promised of all of them

- No kernel's text has a double for a call whose dtypes have at most 32 bits, and whose meaning in NumPy needs none. NumPy's mean of integers
  and its root of 32-bit integers are float64; on a device without it they are refused.
- Kernels are compiled for the width of the device's warps. Where a driver lets kernels ask for one (Intel's), each width that it offers is
  tested: 4, 8, 16, 32 and 64 on Intel's CPU runtime. Kernels that use shuffles refuse widths that are too narrow, and other kernels run.
- Without forward progress no kernel is chosen whose groups wait for each other.
- An array that is larger than the device allows raises `DeviceMemoryError` with the limit. `map` and `reduce` of host arrays work in
  slabs, and have no such limit.
- Groups of 256 work-items are needed; a device with smaller ones is refused in a sentence.

The tests are `tests/test_device_classes.py` and `tests/test_subgroup_widths.py`; `python tests/device_page.py` writes this page from
their tables.
"""


def page() -> str:
    """Return the whole text."""
    classes = [f"| {kind.name} | {kind.about} |" for kind in CLASSES]
    columns = " | ".join(kind.name for kind in CLASSES)
    works = [
        f"| {work.name} (`{work.calls}`) | {' | '.join(_cell(work, kind) for kind in CLASSES)} |" for work in WORKS
    ]
    return "".join(
        [
            _HEAD,
            _lines(["| class | what it has and lacks |", "| --- | --- |", *classes]),
            _WORK,
            _lines([f"| work | {columns} |", "| --- |" + " --- |" * len(CLASSES), *works]),
            _NOTES,
        ]
    )


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _cell(work: Work, kind: DeviceClass) -> str:
    """Return which dtypes of a work a class computes."""
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
