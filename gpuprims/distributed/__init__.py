"""Arrays beyond one device: several devices of one host, and arrays that fit in no memory.

``LogReg`` is loaded when it is first used, because it imports scikit-learn.
"""

import importlib
from typing import TYPE_CHECKING, Any

from gpuprims.distributed.checkpoints import Checkpoint
from gpuprims.distributed.group import DeviceGroup
from gpuprims.distributed.processes import Processes
from gpuprims.distributed.sharded import ShardedArray
from gpuprims.distributed.streams import Stream, stream
from gpuprims.errors import absent

if TYPE_CHECKING:
    from gpuprims.distributed.logreg import LogReg

__all__ = ["Checkpoint", "DeviceGroup", "LogReg", "Processes", "ShardedArray", "Stream", "stream"]


def __getattr__(name: str) -> Any:
    if name == "LogReg":
        return importlib.import_module("gpuprims.distributed.logreg").LogReg
    raise absent(__name__, name, __all__)
