"""Ops of `arith` and `math` by their names, for scripts that have no word for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.arith import Arith
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.types import element_of
from stepwell.frontend.te.expressions import Call, Dtype, Expr
from stepwell.frontend.te.places import FormulaError
from stepwell.runtime.errors import did_you_mean
from stepwell.runtime.interface import dtype_from_name


class NamedCall(Call):
    """A call of an op by name; the result has the type of the operands."""

    def __init__(self, name: str, parts: Sequence[Expr], dtype: Dtype):
        super().__init__("op", parts, dtype)
        self.name = name

    def __str__(self) -> str:
        return f'op("{self.name}", {", ".join(map(str, self.parts))})'


@cache
def known_ops() -> dict[str, type[IRDLOperation]]:
    """The ops without regions that have one result, by name."""
    found = [op for op in (*Arith.operations, *math.Math.operations) if issubclass(op, IRDLOperation)]
    definitions = [(op, op.get_irdl_definition()) for op in found]
    return {op.name: op for op, what in definitions if len(what.results) == 1 and not what.regions}


def named_call(name: str, parts: Sequence[Expr]) -> NamedCall:
    """
    A call of an op by its name.

    Raises: StepwellError `script-syntax` where no op has the name, or it takes other numbers.
    """
    if name not in known_ops():
        help = f"{did_you_mean(name, known_ops())}the ops of numbers are those of `arith` and `math`"
        raise FormulaError("script-syntax", f"no op is named {name!r}", help=help)
    if not parts or any(part.dtype != parts[0].dtype for part in parts):
        found = ", ".join(part.dtype for part in parts) or "none"
        raise FormulaError("script-syntax", f"{name} takes numbers of one type, found {found}")
    types = [Scalars(element_of(dtype_from_name(part.dtype))).type for part in parts]
    try:
        named_op(name, Block(arg_types=types).args).verify_()
    except (VerifyException, ValueError) as error:
        message = f"{name} does not take {len(parts)} numbers of {parts[0].dtype}: {error}"
        raise FormulaError("script-syntax", message) from None
    return NamedCall(name, parts, parts[0].dtype)


def named_op(name: str, operands: Sequence[SSAValue]) -> Operation:
    """The op of a name on operands."""
    cls = known_ops()[name]
    names = cls.get_irdl_definition().properties
    defaults: dict[str, Attribute] = {
        "fastmath": arith.FastMathFlagsAttr("none"),
        "overflowFlags": arith.IntegerOverflowAttr("none"),
    }
    properties = {key: value for key, value in defaults.items() if key in names}
    return cls.create(operands=operands, result_types=[operands[0].type], properties=properties)


def is_named(op: Operation) -> bool:
    """Whether a script can call an op by its name."""
    same = all(type == op.results[0].type for type in op.operand_types)
    return op.name in known_ops() and bool(op.operands) and same and _has_defaults(op)


def _has_defaults(op: Operation) -> bool:
    return named_op(op.name, op.operands).properties == op.properties
