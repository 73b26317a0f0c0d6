"""Scripts of schedules: the container, and the primitives that decide one thing each."""

from stepwell.dialects.schedule_script.container import ScriptOp, StageOp, scripts_of
from stepwell.dialects.schedule_script.intrinsic import IntrinsicOp, intrinsics_of
from stepwell.dialects.schedule_script.primitives import (
    BindOp,
    InsideOp,
    LoopsOp,
    ParallelOp,
    ReorderOp,
    SplitOp,
    TileOp,
    UnrollOp,
    VectorizeOp,
)
from stepwell.dialects.schedule_script.rewrite_primitives import (
    ARENA,
    CacheReadOp,
    CacheWriteOp,
    ComputeInlineOp,
    FuseOp,
    PadOp,
    ReverseComputeInlineOp,
    RewriteOp,
    RfactorOp,
    StorageAlignOp,
    TensorizeOp,
    TransformLayoutOp,
)
from stepwell.dialects.schedule_script.samples import (
    INLINE,
    ROOT,
    SampleChoiceOp,
    SamplePlaceOp,
    SampleTileOp,
)
from stepwell.dialects.schedule_script.stage_primitives import (
    ComputeAtOp,
    ComputeRootOp,
    PrefetchOp,
    SetFormOp,
    SetSizeOp,
    StreamOp,
)
from stepwell.dialects.schedule_script.text import OPEN, PrimitiveOp
from stepwell.dialects.schedule_script.types import (
    LOOP,
    STAGE,
    TILE,
    ChoiceType,
    LoopType,
    StageType,
    TileType,
)

OPS = (
    ScriptOp, StageOp, LoopsOp, SampleTileOp, SampleChoiceOp, SplitOp, TileOp, ReorderOp, ParallelOp,
    VectorizeOp, UnrollOp, InsideOp, SetFormOp, SetSizeOp, ComputeAtOp, ComputeRootOp, SamplePlaceOp,
    StreamOp, PrefetchOp, BindOp, CacheReadOp, CacheWriteOp, ComputeInlineOp, FuseOp,
    ReverseComputeInlineOp, RfactorOp, TransformLayoutOp,
    PadOp, StorageAlignOp, TensorizeOp, IntrinsicOp,
)  # fmt: skip
"""All ops of scripts."""

__all__ = [
    "ARENA",
    "INLINE",
    "LOOP",
    "OPEN",
    "OPS",
    "ROOT",
    "STAGE",
    "TILE",
    "BindOp",
    "CacheReadOp",
    "CacheWriteOp",
    "ChoiceType",
    "ComputeAtOp",
    "ComputeInlineOp",
    "ComputeRootOp",
    "FuseOp",
    "InsideOp",
    "IntrinsicOp",
    "LoopType",
    "LoopsOp",
    "PadOp",
    "ParallelOp",
    "PrefetchOp",
    "PrimitiveOp",
    "ReorderOp",
    "ReverseComputeInlineOp",
    "RewriteOp",
    "RfactorOp",
    "SampleChoiceOp",
    "SamplePlaceOp",
    "SampleTileOp",
    "ScriptOp",
    "SetFormOp",
    "SetSizeOp",
    "SplitOp",
    "StageOp",
    "StageType",
    "StorageAlignOp",
    "StreamOp",
    "TensorizeOp",
    "TileOp",
    "TileType",
    "TransformLayoutOp",
    "UnrollOp",
    "VectorizeOp",
    "intrinsics_of",
    "scripts_of",
]
