"""Level 3: products of bytes on buffers → tile registers."""

from stepwell.lowering.linalg_to_amx.convert import ConvertLinalgToAMXPass

__all__ = ["ConvertLinalgToAMXPass"]
