"""use_device: choose the device of calls that name none."""

from __future__ import annotations

from gpuprims.core import device as devices
from gpuprims.core.default_device import Scope
from gpuprims.core.device import Device


class use_device(Scope):  # noqa: N801 - called like a function, as CuPy's and torch's are
    """Choose the device of calls that name none, neither by their arrays nor by ``device=``.

    Parameters
    ----------
    spec : str, Device or None
        None returns to the automatic choice.

    Notes
    -----
    In a ``with`` statement the choice holds inside the block, for the thread or asyncio task that runs it and for tasks
    created there. Threads started in the block do not see it: run them by :func:`contextvars.copy_context`, or pass
    ``device=``. Blocks may overlap; each block's choice ends with the block. A plain ``use_device(x)`` inside a block
    chooses for the rest of that block; outside blocks, it chooses for the process at once.

    Python runs ``use_device(x)`` before it enters ``with``. Another thread that needs the process's choice between
    these two steps waits. If the object is kept (``choice = use_device(x)``), that thread waits until the first thread
    makes a call, a second at most.

    Examples
    --------
    >>> import gpuprims
    >>> with gpuprims.use_device("reference"):
    ...     int(gpuprims.reduce([1, 2, 3]))
    6
    """

    def __init__(self, spec: str | Device | None) -> None:
        super().__init__(devices.DEFAULT, None if spec is None else Device(spec))

    def __enter__(self) -> Device | None:
        chosen: Device | None = super().__enter__()
        return chosen
