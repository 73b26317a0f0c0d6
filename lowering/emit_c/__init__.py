"""C99 from the `emitc` dialect: one walk that prints statements, with expressions inside one another."""

from stepwell.lowering.emit_c.constants import ConstantArray, address_text
from stepwell.lowering.emit_c.module import CSource, emit_c
from stepwell.lowering.emit_c.stack import stack_bytes
from stepwell.lowering.emit_c.types import c_type

__all__ = ["CSource", "ConstantArray", "address_text", "c_type", "emit_c", "stack_bytes"]
