"""Level 2 → 3: functions on tensors become functions on buffers that their callers provide."""

from stepwell.lowering.bufferize.bufferize import BufferizePass
from stepwell.lowering.bufferize.index_forms import OF_SIZES
from stepwell.lowering.bufferize.layouts import groups_of, memref_of

__all__ = ["OF_SIZES", "BufferizePass", "groups_of", "memref_of"]
