"""
The `gpu` dialect: kernels for devices, in MLIR's syntax.

Ops of ours stand for xDSL's, which print in generic syntax and have no effects; xDSL's own stay for what only
hosts do (`gpu.alloc`, `gpu.memcpy`, …).
"""

from xdsl.dialects import gpu as upstream
from xdsl.ir import Dialect, Operation

from stepwell.dialects.gpu import (
    async_copies,
    collectives,
    dynamic_memory,
    ids,
    kernel,
    launch,
    tensor_cores,
    work,
)
from stepwell.dialects.gpu.async_copies import AsyncCommitOp, AsyncCopyOp, AsyncWaitOp
from stepwell.dialects.gpu.attributes import AddressSpaceAttr
from stepwell.dialects.gpu.collectives import AllReduceOp, BarrierOp, ShuffleOp, SubgroupReduceOp
from stepwell.dialects.gpu.dynamic_memory import DynamicSharedMemoryOp
from stepwell.dialects.gpu.ids import (
    BlockDimOp,
    BlockIdOp,
    GlobalIdOp,
    GridDimOp,
    LaneIdOp,
    SubgroupIdOp,
    SubgroupSizeOp,
    ThreadIdOp,
)
from stepwell.dialects.gpu.kernel import GPUFuncOp, GPUModuleOp, ReturnOp
from stepwell.dialects.gpu.launch import LaunchFuncOp, LaunchOp, TerminatorOp
from stepwell.dialects.gpu.tensor_cores import LdmatrixOp, MmaSyncOp, ToTf32Op
from stepwell.dialects.gpu.work import WorkOp
from stepwell.dialects.op_classes import ops_in

__all__ = [
    "GPU",
    "AddressSpaceAttr",
    "AllReduceOp",
    "AsyncCommitOp",
    "AsyncCopyOp",
    "AsyncWaitOp",
    "BarrierOp",
    "BlockDimOp",
    "BlockIdOp",
    "DynamicSharedMemoryOp",
    "GPUFuncOp",
    "GPUModuleOp",
    "GlobalIdOp",
    "GridDimOp",
    "LaneIdOp",
    "LaunchFuncOp",
    "LaunchOp",
    "LdmatrixOp",
    "MmaSyncOp",
    "ReturnOp",
    "ShuffleOp",
    "SubgroupIdOp",
    "SubgroupReduceOp",
    "SubgroupSizeOp",
    "TerminatorOp",
    "ThreadIdOp",
    "ToTf32Op",
    "WorkOp",
]

_OURS = ops_in(async_copies, collectives, dynamic_memory, ids, kernel, launch, tensor_cores, work)


def _others() -> list[type[Operation]]:
    """The ops of xDSL's dialect that have no class here."""
    names = {op.name for op in _OURS}
    return [op for op in upstream.GPU.operations if op.name not in names]


GPU = Dialect("gpu", [*_OURS, *_others()], [AddressSpaceAttr, *upstream.GPU.attributes])
