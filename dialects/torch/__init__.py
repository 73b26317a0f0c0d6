"""The `torch` dialect: level 0 of a PyTorch program, one op an overload, on tensors of named dimensions."""

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect, Operation

from stepwell.dialects.foreign import OpTable
from stepwell.dialects.torch.structure import OperatorOp as OperatorOp
from stepwell.dialects.torch.structure import WeightOp as WeightOp

if TYPE_CHECKING:
    Torch: Dialect

NODE, MODULE, NAME = "torch.node", "torch.module", "torch.name"
"""Attributes of an op: the name of its node, and the path and class of the module that it
belongs to; of a weight: its name in the program."""
UNSUPPORTED = "torch.unsupported"
"""Attribute of a module: `torch` has torch run operators without a conversion, at run time."""
TABLE = OpTable("torch", Path(__file__).with_name("signatures.txt"))
"""The overloads by name (`aten.add.Tensor`)."""


def op_class(op_name: str) -> type[Operation] | None:
    """The class of an op by its name in the IR; None for an unknown one."""
    found = next((each for each in (WeightOp, OperatorOp) if each.name == op_name), None)
    return found or TABLE.found(op_name)


def __getattr__(name: str) -> object:
    """The dialect, with all classes, made when it is first used."""
    if name != "Torch":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = Dialect("torch", [WeightOp, OperatorOp, *TABLE.op_classes()])
    globals()[name] = value
    return value


__all__ = ["MODULE", "NAME", "NODE", "TABLE", "UNSUPPORTED", "OperatorOp", "Torch", "WeightOp", "op_class"]
