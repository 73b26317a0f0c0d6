"""The `torch` dialect: level 0 of a PyTorch program, one op an overload, on tensors of named dimensions."""

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from stepwell.dialects.foreign.dialect import ForeignDialect
from stepwell.dialects.torch.structure import OperatorOp as OperatorOp
from stepwell.dialects.torch.structure import WeightOp as WeightOp

if TYPE_CHECKING:
    Torch: Dialect

NODE, MODULE, NAME = "torch.node", "torch.module", "torch.name"
"""Attributes of an op: the name of its node, and the path and class of the module that it
belongs to; of a weight: its name in the program."""
UNSUPPORTED = "torch.unsupported"
"""Attribute of a module: `torch` has torch run operators without a conversion, at run time."""
FOREIGN = ForeignDialect("torch", Path(__file__).with_name("signatures.txt"), WeightOp, OperatorOp)
TABLE = FOREIGN.table
"""The overloads by name (`aten.add.Tensor`)."""
op_class, __getattr__ = FOREIGN.op_class, FOREIGN.lazy(__name__, "Torch")

__all__ = ["MODULE", "NAME", "NODE", "TABLE", "UNSUPPORTED", "OperatorOp", "Torch", "WeightOp", "op_class"]
