"""The `stablehlo` dialect: level 0 of JAX's programs, and of all that emits StableHLO."""

from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect, Operation

from stepwell.dialects.foreign import OpTable
from stepwell.dialects.stablehlo.structure import CaseOp as CaseOp
from stepwell.dialects.stablehlo.structure import ChoiceOp as ChoiceOp
from stepwell.dialects.stablehlo.structure import IfOp as IfOp
from stepwell.dialects.stablehlo.structure import OperatorOp as OperatorOp
from stepwell.dialects.stablehlo.structure import RegionsOp as RegionsOp
from stepwell.dialects.stablehlo.structure import ReturnOp as ReturnOp
from stepwell.dialects.stablehlo.structure import WeightOp as WeightOp
from stepwell.dialects.stablehlo.structure import WhileOp as WhileOp

if TYPE_CHECKING:
    Stablehlo: Dialect

_STRUCTURE: tuple[type[Operation], ...] = (WeightOp, OperatorOp, WhileOp, IfOp, CaseOp, ReturnOp)
TABLE = OpTable("stablehlo", Path(__file__).with_name("signatures.txt"))
"""The operations by name (`dot_general`)."""


def op_class(op_name: str) -> type[Operation] | None:
    """The class of an op by its name in the IR; None for an unknown one."""
    found = next((each for each in _STRUCTURE if each.name == op_name), None)
    return found or TABLE.found(op_name)


def __getattr__(name: str) -> object:
    """The dialect, with all classes, made when it is first used."""
    if name != "Stablehlo":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = Dialect("stablehlo", [*_STRUCTURE, *TABLE.op_classes()])
    globals()[name] = value
    return value


__all__ = [
    "TABLE",
    "CaseOp",
    "ChoiceOp",
    "IfOp",
    "OperatorOp",
    "RegionsOp",
    "ReturnOp",
    "Stablehlo",
    "WeightOp",
    "WhileOp",
    "op_class",
]
