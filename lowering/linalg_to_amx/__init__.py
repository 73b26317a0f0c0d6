"""Products of bytes on buffers (level 3) → tile registers."""

from stepwell.lowering.linalg_to_amx.convert import ConvertLinalgToAMXPass

__all__ = ["ConvertLinalgToAMXPass"]
