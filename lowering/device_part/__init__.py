"""Device parts: the host's program of a module of the gpu level as commands, and the code of its kernels."""

from stepwell.lowering.device_part.code import GPU, code_formats, register_code
from stepwell.lowering.device_part.part import device_part

__all__ = ["GPU", "code_formats", "device_part", "register_code"]
