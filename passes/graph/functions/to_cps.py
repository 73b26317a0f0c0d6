"""`to-cps`: functions in continuation-passing style, whose calls are all in tail position."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from stepwell.dialects import adt, graph
from stepwell.dialects.type_variables import (
    TYPE_KIND,
    TYPE_PARAMS,
    ParamsAttr,
    VarType,
    params_of,
    types_inside,
)
from stepwell.passes.analysis.symbol_names import SymbolNames
from stepwell.passes.analysis.type_substitution import map_types
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.graph.functions.continuations import Continuations, in_cps, with_continuation
from stepwell.passes.graph.functions.cps_origin import set_origin
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class ToCpsPass(Pass):
    """
    Give each function a continuation: a function of its results, to be called last.

    ```mlir
    func.func @main(%x: tensor<i64>) -> tensor<i64> {
      %y = graph.call @f(%x) : (tensor<i64>) -> tensor<i64>
      %z = graph.add %y, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
      func.return %z : tensor<i64>
    }
    ```
    becomes, with a type variable for the answer that all continuations give,
    ```mlir
    func.func @main_cps(%x: tensor<i64>, %k: (tensor<i64>) -> !graph.var<"Ans">) -> !graph.var<"Ans"> attributes {graph.type_params = #graph.params<["Ans"]>} {
      %k1 = graph.lambda (%y: tensor<i64>) -> (!graph.var<"Ans">) {
        %a = graph.call @main_cps_0<!graph.var<"Ans">>(%x, %k, %y) : (tensor<i64>, (tensor<i64>) -> !graph.var<"Ans">, tensor<i64>) -> !graph.var<"Ans">
        graph.yield %a : !graph.var<"Ans">
      }
      %b = graph.call @f_cps<!graph.var<"Ans">>(%x, %k1) : (tensor<i64>, (tensor<i64>) -> !graph.var<"Ans">) -> !graph.var<"Ans">
      func.return %b : !graph.var<"Ans">
    }
    ```
    where `@main_cps_0` adds, and calls `%k` with the sum. Function values take continuations too. Ops and
    calls of functions without a body get no continuation. The ops after a branch with calls become one
    continuation, which all arms of the branch call. `un-cps` restores the original functions.

    Class: exact. Fails for loops with calls inside: run `loops-to-calls` before, which makes them calls.
    Source: Reynolds, "Definitional interpreters for higher-order programming languages" (1972).
    """  # noqa: E501

    name = "to-cps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            _expect_first_order_data(each)
        functions = functions_of(op)
        symbols = SymbolNames(op)
        names = {each.sym_name.data: symbols.fresh(f"{each.sym_name.data}_cps") for each in functions}
        for function in functions:
            _convert(function, op, symbols, names)


def _convert(function: FuncOp, module: ModuleOp, symbols: SymbolNames, names: dict[str, str]) -> None:
    """Give a function a continuation."""
    kinds = params.by_name if (params := params_of(function)) is not None else {}
    name = "Ans"
    while name in kinds:
        name += "1"
    answer = VarType(name)
    params = ParamsAttr.of({**kinds, name: TYPE_KIND})
    set_origin(function)
    type, own = function.function_type, names[function.sym_name.data]
    del function.properties["function_type"]  # it is the type of no value
    map_types(function, lambda part: in_cps(part, answer))
    parts = ([in_cps(part, answer) for part in parts] for parts in (type.inputs, type.outputs))
    wanted = with_continuation(FunctionType.from_lists(*parts), answer)
    function.properties |= {"function_type": wanted, "sym_name": StringAttr(own)}
    function.attributes[TYPE_PARAMS] = params
    conversion = Continuations(module, symbols, names, own, params, answer)
    conversion.convert_values(function)
    block = function.body.block
    continuation = block.insert_arg(wanted.inputs.data[-1], len(block.args))
    continuation.name_hint = "k"
    conversion.convert(block, continuation)


def _expect_first_order_data(op: Operation) -> None:
    """Refuse functions in definitions of data, and derivatives. Raises: StepwellError `unsupported`."""
    if isinstance(op, graph.VjpOp | graph.GradientOp):
        raise StepwellError("unsupported", op, f"{op.name} is not written out", help="run gradient before")
    if isinstance(op, adt.ConstructorOp) and any(map(_has_function, op.fields)):
        message = f"@{op.sym_name.data} has a function, whose answer the definition cannot name"
        help = "let a variable of the data type stand for the function's type, or run defunctionalize"
        raise StepwellError("unsupported", op, message, help=help)
    if isinstance(op, FuncOp) and (op.is_declaration or "skip_optimization" in op.attributes):
        types = (*op.function_type.inputs, *op.function_type.outputs)
        if any(map(_has_function, types)):
            message = f"@{op.sym_name.data} takes or gives functions, and gets no continuation"
            raise StepwellError("unsupported", op, message, help="give it a body")


def _has_function(type: Attribute) -> bool:
    return any(isinstance(part, FunctionType) for part in types_inside(type))
