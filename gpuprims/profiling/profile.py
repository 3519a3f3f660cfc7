"""profile: see what calls launch, copy and compile, and how long that takes the device."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from gpuprims.core.device import Device
from gpuprims.errors import ArgumentError, quoted
from gpuprims.profiling.files import as_json, as_trace
from gpuprims.profiling.limit import copy_rate
from gpuprims.profiling.recorder import Recorder
from gpuprims.profiling.records import Compile, Copy, Launch, Seen
from gpuprims.profiling.table import DeviceSeen, table_of


class Profile:
    """What the calls in a block did, made by :func:`gpuprims.profile`; complete when the block has ended.

    Attributes
    ----------
    launches : tuple of Launch
        Each run of a kernel: ``call``, ``number``, ``device``, ``thread``, ``start``, ``seconds``, ``kernel``,
        ``nbytes``, ``rate`` in bytes per second, ``fraction`` of a copy's rate, ``in_cache``; with ``counters=True``
        ``phases``, the ``name``, ``ticks`` and ``share`` of each step of the kernel.
    copies : tuple of Copy
        Each copy between the host and a device: ``direction``, ``nbytes``, ``rate``, ``overlapping``.
    compiles : tuple of Compile
        Each kernel that was made: ``kernel``, and ``source``, ``"compiler"`` or ``"disk"``.
    """

    def __init__(self, *, counters: bool = False) -> None:
        self._counters = counters
        self._recorder: Recorder | None = None
        self._seen: list[Seen] | None = None
        self._devices: tuple[DeviceSeen, ...] = ()

    def __enter__(self) -> Profile:
        if self._recorder is not None:
            raise ArgumentError("profile: one block; got a second one (call gpuprims.profile() for each)")
        self._recorder = Recorder(counters=self._counters)
        self._recorder.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        recorder: Any = self._recorder
        recorder.end()
        drivers = recorder.devices()
        rates = {spec: copy_rate(Device._of(driver)) for spec, driver in drivers.items()}
        self._devices = tuple(
            DeviceSeen(spec, driver.capabilities.name, driver.clock.name, rates[spec])
            for spec, driver in drivers.items()
        )
        self._seen = recorder.seen(rates.__getitem__)

    @property
    def launches(self) -> tuple[Launch, ...]:
        """Each run of a kernel."""
        return tuple(one for one in self._all() if isinstance(one, Launch))

    @property
    def copies(self) -> tuple[Copy, ...]:
        """Each copy between the host and a device."""
        return tuple(one for one in self._all() if isinstance(one, Copy))

    @property
    def compiles(self) -> tuple[Compile, ...]:
        """Each kernel that was made."""
        return tuple(one for one in self._all() if isinstance(one, Compile))

    def table(self) -> str:
        """Return the launches by call and kernel, longest first, then the copies and the kernels that were made."""
        return table_of(self._devices, self._all())

    __str__ = table

    def __repr__(self) -> str:
        if self._seen is None:
            return "<gpuprims.Profile, open>" if self._recorder else "<gpuprims.Profile, not begun>"
        return f"<gpuprims.Profile of {len(self.launches)} launches>"

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write all records to a file; times in seconds, rates in bytes per second."""
        Path(path).write_text(json.dumps(as_json(self._devices, self._all()), indent=1) + "\n")

    def to_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace for https://ui.perfetto.dev or chrome://tracing: the threads' calls, and what devices ran."""
        Path(path).write_text(json.dumps(as_trace(self._devices, self._all())) + "\n")

    def _all(self) -> list[Seen]:
        if self._seen is None:
            raise ArgumentError(
                "profile: a block that has ended; got one that has not (read the profile after its with block)"
            )
        return self._seen


def profile(*, counters: bool = False) -> Profile:
    """Profile the calls of a block: kernels, device time, bytes, rates, copies and compiled kernels.

    Parameters
    ----------
    counters : bool, default False
        Also measure the steps of each kernel, such as load, fold and store, by a clock that the kernel reads at each.
        Kernels are compiled anew for it, and run more slowly.

    Returns
    -------
    Profile
        For a ``with`` statement. After the block, ``print`` shows a table.

    Raises
    ------
    ArgumentError
        From calls in the block: ``counters=True`` with a device whose kernels cannot read a clock.

    Notes
    -----
    A profile sees what all threads do on all devices while its block runs. Blocks may nest and overlap; each sees all.
    Launches that a captured CUDA graph repeats are not seen.

    A launch's time is the device's own, without the host's. Its bytes are those of the arrays that it is given, each
    counted once and whole. The first profile of a process that uses a device also measures how fast it copies, in
    less than a second.

    With ``counters=True`` the first work-item of each of the first 4,096 groups reads the clock of its multiprocessor,
    or the CPU's time stamp counter, at each step that the kernel's file numbers. The shares say where a group waits;
    they belong to this kernel, since a compiler moves less past a clock. On a CPU the work-items of a group take turns,
    so a step contains what the others do up to the next barrier.

    Source: J. Selig, "Hardware Accelerated Machine Learning Via Parallel Programming on GPUs", 2017, section 4.2, which
    stamps clocks at load, dot product, reduction and update.

    Calls take longer in a profile: they run no functions in C, wait before and after each copy, and time each launch.

    Examples
    --------
    >>> import gpuprims, numpy as np
    >>> x = np.ones(100_000, np.float32)
    >>> with gpuprims.profile() as p:
    ...     total = gpuprims.reduce(x, device="reference")
    >>> [(launch.call, launch.kernel, launch.nbytes) for launch in p.launches]
    [('reduce(float32[100000])', 'reduce/numpy', 400004)]
    >>> p.launches[0].seconds > 0
    True
    >>> print(p)  # doctest: +SKIP
    """
    if type(counters) is not bool:
        raise ArgumentError(f"profile: counters= True or False; got {quoted(counters)}")
    return Profile(counters=counters)
