"""Level 2 → 3: functions on tensors become functions on buffers that their callers provide."""

from stepwell.lowering.bufferize.bufferize import BufferizePass

__all__ = ["BufferizePass"]
