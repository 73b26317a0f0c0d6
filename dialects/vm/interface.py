"""The interface of a program of level 1: its data types and public functions, without instructions."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from stepwell.dialects.adt.data import DataOp
from stepwell.dialects.type_variables import TYPE_PARAMS
from stepwell.dialects.vm.program import data_type, signature_of_type
from stepwell.runtime.vm.program import Function, Program


def interface_of(module: ModuleOp) -> Program:
    """The data types and public functions of a module. Raises: StepwellError `unsupported` for a type."""
    data = tuple(data_type(op) for op in module.ops if isinstance(op, DataOp))
    functions = (
        Function(
            op.sym_name.data,
            len(op.args),
            len(op.args),
            (),
            signature_of_type(op.function_type, tuple(input_names(op))),
        )
        for op in module.ops
        if isinstance(op, FuncOp)
        and is_public(op)
        and not op.is_declaration
        and TYPE_PARAMS not in op.attributes
    )
    return Program(data, (), (), tuple(functions))


def is_public(function: FuncOp) -> bool:
    """Whether users may call a function."""
    return function.sym_visibility is None or function.sym_visibility.data != "private"


def input_names(function: FuncOp) -> Sequence[str]:
    """The names of a function's inputs: those of the model, else those of the text."""
    attributes = function.arg_attrs.data if function.arg_attrs is not None else ()
    names: list[str] = []
    for position, argument in enumerate(function.args):
        named = attributes[position].data.get("graph.name") if position < len(attributes) else None
        names.append(named.data if isinstance(named, StringAttr) else argument.name_hint or "")
    return names
