"""The definition of a data type by its name: of the module around, else of the prelude."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation

from stepwell.dialects.adt.data import DataOp, DataType
from stepwell.dialects.shared_tables import shared_table
from stepwell.runtime.errors import StepwellError, did_you_mean


def module_of(op: Operation) -> Operation:
    """The outermost op around an op."""
    while (parent := op.parent_op()) is not None:
        op = parent
    return op


def definitions_of(module: Operation) -> dict[str, DataOp]:
    """The data types that a module defines, by name."""
    return {
        op.sym_name.data: op
        for region in module.regions
        for block in region.blocks
        for op in block.ops
        if isinstance(op, DataOp)
    }


def definition_of(type: DataType, at: Operation) -> DataOp:
    """
    The definition of a data type.

    Args: `at` is an op of the module that names the type.
    Raises: StepwellError `bad-kind` for an unknown data type, or another number of arguments.
    """
    definition = definition_named(type.symbol, at)
    expect_arguments(definition, type.arguments.data, at)
    return definition


def definition_named(symbol: str, at: Operation) -> DataOp:
    """
    The definition of a data type by its name.

    Args: `at` is an op of the module that names it.
    Raises: StepwellError `bad-kind` for an unknown data type.
    """
    known = shared_table(module_of(at), definitions_of)
    definition = known.get(symbol) or _of_prelude().get(symbol)
    if definition is None:
        names = [*known, *_of_prelude()]
        raise StepwellError(
            "bad-kind",
            at,
            f"there is no data type @{symbol}",
            help=f"{did_you_mean(symbol, names)}there are: {', '.join(f'@{name}' for name in names)}",
        )
    return definition


def expect_arguments(definition: DataOp, arguments: Sequence[Attribute], at: Operation) -> None:
    """Require as many type arguments as a data type has variables. Raises: StepwellError `bad-kind`."""
    if len(arguments) != len(definition.variables):
        raise StepwellError(
            "bad-kind",
            at,
            f"@{definition.sym_name.data} takes {len(definition.variables)} type arguments,"
            f" found {len(arguments)}",
            help=f"write {definition.applied(*_examples(definition))}",
        )


def _examples(definition: DataOp) -> list[Attribute]:
    from stepwell.dialects.type_variables import VarType

    return [VarType(name) for name in definition.variables]


def _of_prelude() -> dict[str, DataOp]:
    from stepwell.dialects.adt.prelude import prelude

    return definitions_of(prelude())
