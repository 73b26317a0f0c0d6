"""Scripts of schedules: the container, and the primitives that decide one thing each."""

from stepwell.dialects.schedule_script.container import ScriptOp, StageOp, scripts_of
from stepwell.dialects.schedule_script.primitives import (
    PRIMITIVES,
    InsideOp,
    LoopsOp,
    ParallelOp,
    PrimitiveOp,
    ReorderOp,
    SetFormOp,
    SetSizeOp,
    SplitOp,
    TileOp,
    UnrollOp,
    VectorizeOp,
)
from stepwell.dialects.schedule_script.types import LOOP, STAGE, LoopType, StageType

OPS = (ScriptOp, StageOp, *PRIMITIVES)
"""All ops of scripts."""

__all__ = [
    "LOOP",
    "OPS",
    "PRIMITIVES",
    "STAGE",
    "InsideOp",
    "LoopType",
    "LoopsOp",
    "ParallelOp",
    "PrimitiveOp",
    "ReorderOp",
    "ScriptOp",
    "SetFormOp",
    "SetSizeOp",
    "SplitOp",
    "StageOp",
    "StageType",
    "TileOp",
    "UnrollOp",
    "VectorizeOp",
    "scripts_of",
]
