"""Level 2 → 3: functions on tensors become functions on buffers that their callers provide."""

from stepwell.lowering.bufferize.bufferize import BufferizePass
from stepwell.lowering.bufferize.layouts import groups_of, memref_of

__all__ = ["BufferizePass", "groups_of", "memref_of"]
