"""docs/devices.md: what is proved for which class of devices, written from the table that the tests run.

``python tests/device_page.py`` writes the page.
"""

from __future__ import annotations

from pathlib import Path

from device_doubles import CLASSES, DeviceClass
from device_matrix import WORKS, Work

PAGE = Path(__file__).parents[1] / "docs" / "devices.md"

_HEAD = """# Devices

gpuprims is measured on NVIDIA GPUs and on CPUs. Nobody here owns the GPUs below. Their classes are tested by
doubles: the OpenCL driver of a CPU with the capabilities of such a GPU. A double

- compiles a kernel after lines that make an error of each word that the GPU lacks: `double`, 64-bit atomics, shuffles;
- refuses to launch a kernel whose group is larger, or that has more local memory, than the GPU allows;
- refuses an array that is larger than the GPU allows.

Results are compared with NumPy's. This shows that the GPU has a kernel it can run, and that the kernel computes
what NumPy does. It does not show how fast the kernel is, nor that the vendor's compiler has no faults.

## Classes

"""
_WORK = """
## What is computed

"all" stands for every dtype that the work takes. A dtype that is not listed raises `NoVariantError`; the first
line of its message names what the device lacks:

    map: a variant able to run the call; got a refusal: needs float64, which Mali GPU does not compute in (convert
    to float32)

"""
_NOTES = """
## On every class

- A call of 32-bit and smaller dtypes compiles no text with a double, unless NumPy's result is computed in
  float64, as the mean of integers is. Without float64 such a call is refused.
- A kernel is compiled for the device's sub-group size. Intel's drivers let a kernel ask for a size, and 4, 8,
  16, 32 and 64 are tested on Intel's CPU runtime. A kernel with shuffles refuses sub-groups that are too small
  for it; others run instead.
- Without forward progress, kernels whose groups wait for each other are not chosen.
- An array larger than the device allows raises `DeviceMemoryError` with the limit. `map` and `reduce` cut large
  host arrays into slabs.
- A device needs groups of 256 work-items. One with smaller groups is refused in a sentence.

`tests/test_device_classes.py` and `tests/test_subgroup_widths.py` are the tests; `python tests/device_page.py`
writes this page from their tables.
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
