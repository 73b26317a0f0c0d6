"""C99 from the `emitc` dialect: a walk prints statements, and expressions inside them."""

from stepwell.lowering.emit_c.braces import braced
from stepwell.lowering.emit_c.constants import ConstantArray, address_text
from stepwell.lowering.emit_c.module import CSource, emit_c
from stepwell.lowering.emit_c.stack import stack_bytes
from stepwell.lowering.emit_c.types import c_type

__all__ = ["CSource", "ConstantArray", "address_text", "braced", "c_type", "emit_c", "stack_bytes"]
