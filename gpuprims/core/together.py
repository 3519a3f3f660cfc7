"""Compile the kernels of one call at the same time, or ahead of the launches that they wait for."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from threading import Thread
from typing import Any

from gpuprims.core.capture import captured_now
from gpuprims.core.device import Device
from gpuprims.core.lifetime import EndingDriver, ForkedDriver


class _Task:
    """A function in a thread of its own, in a context like the caller's."""

    def __init__(self, run: Callable[[], Any]) -> None:
        context = copy_context()
        self._run: Callable[[], Any] = lambda: context.run(run)
        self._error: BaseException | None = None
        self._thread: Thread | None = Thread(target=self._work, name="gpuprims compile")
        try:
            self._thread.start()
        except RuntimeError:  # too many threads, or the interpreter ends: the caller runs it
            self._thread = None

    def _work(self) -> None:
        try:
            self._result = self._run()
        except BaseException as error:
            self._error = error

    def wait(self) -> Any:
        if self._thread is None:
            return self._run()
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result


def can_compile_together(device: Device) -> bool:
    """Return True if a device's driver compiles several kernels at the same time."""
    driver: Any = device.driver
    return not isinstance(driver, ForkedDriver | EndingDriver) and hasattr(driver, "alongside")


def together(device: Device, *functions: Callable[[], Any]) -> list[Any]:
    """Return the results of functions that compile kernels, if the driver can at the same time, else one by one.

    One by one too while a graph is captured: other threads do not know what the captured call keeps. The caller runs
    the first. Of several errors, the first function's is raised, once all have ended.
    """
    if captured_now() is not None or not can_compile_together(device):
        return [run() for run in functions]
    alongside: Callable[..., Callable[[], Any]] = device.driver.alongside  # type: ignore[attr-defined]
    first, *others = functions
    tasks = [_Task(alongside(run)) for run in others]
    results: list[Any] = []
    errors: list[BaseException] = []
    for wait in (first, *[task.wait for task in tasks]):
        try:
            results.append(wait())
        except BaseException as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return results


def ahead(device: Device, compile_later: Callable[[], Any]) -> None:
    """Compile a kernel of a call ahead, in a thread, if the driver can; the call launches something else first.

    The call waits for a kernel that is being built. It meets any error again, so this function raises none.
    """
    if captured_now() is None and can_compile_together(device):
        alongside: Callable[..., Callable[[], Any]] = device.driver.alongside  # type: ignore[attr-defined]
        _Task(alongside(compile_later))
