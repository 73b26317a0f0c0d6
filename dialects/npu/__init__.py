"""The `npu` dialect: programs of the accelerator, with tokens between its stages as values."""

import sys

from xdsl.ir import Dialect

from stepwell.dialects.npu.binary import BinaryOp as BinaryOp
from stepwell.dialects.npu.compute import AluOp as AluOp
from stepwell.dialects.npu.compute import FinishOp as FinishOp
from stepwell.dialects.npu.compute import GemmOp as GemmOp
from stepwell.dialects.npu.program import ProgramOp as ProgramOp
from stepwell.dialects.npu.tokens import InstructionOp as InstructionOp
from stepwell.dialects.npu.tokens import TokensAttr as TokensAttr
from stepwell.dialects.npu.tokens import TokenType as TokenType
from stepwell.dialects.npu.transfers import LoadOp as LoadOp
from stepwell.dialects.npu.transfers import StoreOp as StoreOp
from stepwell.dialects.op_classes import ops_in

OPS = ops_in(sys.modules[__name__])

Npu = Dialect("npu", OPS, [TokenType, TokensAttr])
