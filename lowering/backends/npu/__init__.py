"""Programs of the accelerator as bytes: tokens, encoding, and runs on the simulator."""

from stepwell.lowering.backends.npu.program_file import encoded, program_of
from stepwell.lowering.backends.npu.simulate import run_program, simulate
from stepwell.runtime.npu.encoded import Encoded

__all__ = ["Encoded", "encoded", "program_of", "run_program", "simulate"]
