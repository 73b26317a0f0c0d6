"""
Bytecode as text: functions of instructions on registers. The text is the disassembly, and parses back to
the same bytes.

A module of this level contains `vm.func`, the data types that it names, `vm.constant`, and segments:
functions of level 1 with the attribute `vm.segment`. [The VM](functional/vm.md) has the instructions.
"""

from xdsl.ir import Dialect

from stepwell.dialects.vm.function import HOST, NAMES, SEGMENT, ConstantOp, VmFuncOp
from stepwell.dialects.vm.instructions import OPS, InstructionOp
from stepwell.dialects.vm.states import StateAttr

VM = Dialect("vm", [VmFuncOp, ConstantOp, *OPS.values()], [StateAttr])

__all__ = ["HOST", "NAMES", "OPS", "SEGMENT", "VM", "ConstantOp", "InstructionOp", "StateAttr", "VmFuncOp"]
