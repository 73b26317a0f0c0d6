"""Programs of the accelerator as bytes: tokens, encoding, and runs on the simulator."""

from stepwell.lowering.backends.npu.program_file import Encoded, encoded, program_of
from stepwell.lowering.backends.npu.simulate import simulate

__all__ = ["Encoded", "encoded", "program_of", "simulate"]
