"""FlatBuffers: a reader that checks every offset, and schemas."""
