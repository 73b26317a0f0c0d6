"""`defunctionalize`: function values become values of data types, which a function for each type applies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from stepwell.dialects import adt, graph
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.type_variables import is_polymorphic, params_of, types_inside
from stepwell.passes.analysis.call_graph import symbols_of
from stepwell.passes.analysis.symbol_names import SymbolNames
from stepwell.passes.analysis.type_substitution import map_types
from stepwell.passes.base import Pass
from stepwell.passes.context import count
from stepwell.passes.graph.functions.eta_expand import call_of
from stepwell.passes.graph.functions.function_data import FunctionData
from stepwell.passes.graph.functions.returned_functions import (
    ReturnedFunctions,
    reaches_function,
    without_functions,
)
from stepwell.passes.graph.lambda_lifting import lift_lambdas
from stepwell.passes.graph.specializing import captured_by, known_function, name_of
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class DefunctionalizePass(Pass):
    """
    Replace function values by values of data types: a constructor for each function, with what it captured.

    ```mlir
    %f = graph.lambda (%a: tensor<i64>) -> (tensor<i64>) {
      %b = graph.add %a, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
      graph.yield %b : tensor<i64>
    }
    %l = graph.call @map(%f, %xs) : ((tensor<i64>) -> tensor<i64>, !adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<i64>>
    ```
    becomes
    ```mlir
    adt.data @fn_0 {
      adt.constructor @main_lambda_0(tensor<i64>)
    }
    …
    %f = adt.make @fn_0::@main_lambda_0(%x) : (tensor<i64>) -> !adt.data<@fn_0>
    %l = graph.call @map(%f, %xs) : (!adt.data<@fn_0>, !adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<i64>>
    ```
    A call of a function value is a call of `@apply_0`, which matches the value and calls the function of the
    constructor. There is a data type and such a function for each function type in use, types that differ in
    sizes alone together. Functions that are arguments, results, captured, in tuples, data and cells are values
    like others. A call whose function is in sight is a call by name. Lambdas are lifted.

    Functions that `@main` returns are closures of `@apply_0`, also inside of tuples and data. Class: exact.
    Needs a monomorphic module; fails where `@main` takes functions.
    Source: Reynolds, "Definitional interpreters for higher-order programming languages" (1972).
    """  # noqa: E501

    name = "defunctionalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(_has_functions(each) for each in op.walk()):
            return
        for each in op.walk():
            _expect_known(each)
        functions = [each for each in op.ops if isinstance(each, FuncOp)]
        bodies = [each for each in functions if not each.is_declaration]
        bodies += lift_lambdas(op, bodies)
        for function in bodies:
            _call_by_name(function)
        _Defunctionalization(op).run(bodies)


def _has_functions(op: Operation) -> bool:
    """Whether an op makes or names a function value."""
    types = [*op.result_types]
    if isinstance(op, FuncOp):
        types += [*op.function_type.inputs, *op.function_type.outputs]
    if isinstance(op, adt.ConstructorOp):
        types += op.fields.data
    return any(isinstance(part, FunctionType) for type in types for part in types_inside(type))


def _expect_known(op: Operation) -> None:
    """Refuse what has type variables, derivatives, and functions from outside. Raises: StepwellError."""
    if isinstance(op, FuncOp) and params_of(op) is not None:
        message = f"@{op.sym_name.data} is polymorphic: the types of its function values are not known"
        raise StepwellError("unsupported", op, message, help="run monomorphize before")
    if isinstance(op, graph.VjpOp | graph.GradientOp):
        raise StepwellError("unsupported", op, f"{op.name} is not written out", help="run gradient before")
    if isinstance(op, adt.ConstructorOp) and any(map(_is_open, op.fields)):
        message = f"@{op.sym_name.data} has a function whose type has a variable"
        help = "let the variable stand for the function's whole type"
        raise StepwellError("unsupported", op, message, help=help)
    if isinstance(op, FuncOp) and (op.is_declaration or op.sym_name.data == "main"):
        for number, type in enumerate(op.function_type.inputs):
            if reaches_function(type, op):
                message = f"argument {number} of @{op.sym_name.data} has functions, which are not known"
                raise StepwellError("unsupported", op, message, help="let it take no functions")


def _is_open(type: Attribute) -> bool:
    parts = (part for part in types_inside(type) if isinstance(part, FunctionType))
    return any(map(is_polymorphic, parts))


def _call_by_name(function: FuncOp) -> None:
    """Name the callees of calls whose function is in sight, and erase function values without uses."""
    for op in [op for op in function.walk() if isinstance(op, graph.CallOp) and op.function is not None]:
        assert op.function is not None
        if (value := known_function(op.function)) is not None:
            made: Operation = graph.CallOp(
                name_of(value), [*captured_by(value), *op.arguments], op.result_types
            )
        elif isinstance(op.function.owner, graph.FunctionOp):
            made = call_of(op.function.owner, op.arguments)
        else:
            continue
        adopt_location(made, op.location)
        Rewriter.replace_op(op, made)
    for op in reversed([op for op in function.walk() if isinstance(op, graph.ClosureOp | graph.FunctionOp)]):
        if not op.result.uses:
            Rewriter.erase_op(op)


class _Defunctionalization:
    """The data types of a module's function types, in the places of these."""

    def __init__(self, module: ModuleOp):
        names = SymbolNames(module)
        self._module = module
        self._data = FunctionData(names)
        self._returned = ReturnedFunctions(module, self._data, names)

    def run(self, functions: Sequence[FuncOp]) -> None:
        """Replace the function values in all functions, then define the data types."""
        main = next((each for each in functions if each.sym_name.data == "main"), None)
        wanted = () if main is None else main.function_type.outputs.data
        converts = any(self._data.mapped(type) != type for type in wanted)
        if main is not None:
            _expect_result(main)
        if converts:
            _expect_no_calls(functions)
        for each in self._module.ops:
            if isinstance(each, adt.DataOp):
                map_types(each, self._data.mapped)
        for function in functions:
            self._map_types(function)
        for function in functions:
            self._replace_values(function)
        if main is not None and converts:
            self._returned.convert(main, wanted)
            inputs = main.function_type.inputs.data
            main.properties["function_type"] = FunctionType.from_lists(inputs, wanted)
        self._data.define(self._module)

    def _map_types(self, function: FuncOp) -> None:
        """Put data types in the places of function types."""
        type = function.function_type
        del function.properties["function_type"]  # it is the type of no value
        map_types(function, self._data.mapped)
        parts = ([self._data.mapped(part) for part in parts] for parts in (type.inputs, type.outputs))
        function.properties["function_type"] = FunctionType.from_lists(*parts)

    def _replace_values(self, function: FuncOp) -> None:
        """Make data of the function values, and call the functions that apply it."""
        for op in list(function.walk()):
            if isinstance(op, graph.ClosureOp | graph.FunctionOp):
                captured = op.captured if isinstance(op, graph.ClosureOp) else ()
                family = self._data.family(op.result.type)
                variant = family.variant(op.callee, captured, op)
                made: Operation = adt.MakeOp(variant.name, captured, family.data)
                count("function values")
            elif isinstance(op, graph.CallOp) and op.function is not None:
                apply = self._data.family(op.function.type).apply
                made = graph.CallOp(apply, [op.function, *op.arguments], op.result_types)
            else:
                continue
            adopt_location(made, op.location)
            Rewriter.replace_op(op, made)


def _expect_result(main: FuncOp) -> None:
    """Refuse functions that `@main` returns in data types of its own. Raises: StepwellError."""
    for type in main.function_type.outputs:
        if reaches_function(without_functions(type), main):
            message = f"@main returns a value of type {type}, whose definition has functions"
            help = "let a variable of the data type stand for the type of the functions"
            raise StepwellError("unsupported", main, message, help=help)


def _expect_no_calls(functions: Iterable[FuncOp]) -> None:
    """Refuse uses of `@main` where it returns functions. Raises: StepwellError."""
    for function in functions:
        if use := next((op for op in function.walk() if "main" in symbols_of(op)), None):
            message = "@main returns functions, and the program calls it itself"
            raise StepwellError("unsupported", use, message, help="call a private function from @main")
