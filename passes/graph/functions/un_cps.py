"""`un-cps`: functions with a continuation get the form back that they had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, TupleType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute

from stepwell.dialects import graph
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.type_variables import TYPE_PARAMS, ParamsAttr, VarType, params_of, types_inside
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count, remark
from stepwell.passes.graph.functions.continuations import in_cps
from stepwell.passes.graph.functions.cps_origin import ORIGIN, Origin, origin_of
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class UnCpsPass(Pass):
    """
    Define the public functions that `to-cps` changed: by calls with the identity as continuation.

    ```mlir
    func.func @main(%x: tensor<i64>) -> tensor<i64> {
      %id = graph.lambda (%r: tensor<i64>) -> (tensor<i64>) {
        graph.yield %r : tensor<i64>
      }
      %y = graph.call @main_cps<tensor<i64>>(%x, %id) : (tensor<i64>, (tensor<i64>) -> tensor<i64>) -> tensor<i64>
      func.return %y : tensor<i64>
    }
    ```
    For several results, the identity makes a tuple. A lambda gives function arguments a continuation
    parameter.
    Class: exact. Fails if `@main` returns functions, for which callers have no continuation; other functions
    that return functions are not changed.
    """  # noqa: E501

    name = "un-cps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            if (origin := origin_of(function)) is None:
                continue
            del function.attributes[ORIGIN]
            if function.sym_visibility is not None and function.sym_visibility.data != "public":
                continue
            if reason := _reason_against(origin):
                if origin.name == "main":
                    help = "run defunctionalize before to-cps"
                    raise StepwellError("unsupported", function, f"@main {reason}", help=help)
                remark(function, f"@{origin.name} is not defined again: it {reason}")
                continue
            op.body.block.insert_op_before(_direct(function, origin), function)
            function.properties["sym_visibility"] = StringAttr("private")
            count("functions defined")


def _reason_against(origin: Origin) -> str:
    """Why a function cannot have its form back; empty where it can."""
    if any(_has_function(type) for type in origin.type.outputs):
        return "returns functions, which take continuations now"
    for type in origin.type.inputs:
        parts = (*type.inputs, *type.outputs) if isinstance(type, FunctionType) else (type,)
        if any(map(_has_function, parts)):
            return "takes functions inside of other values"
    return ""


def _has_function(type: Attribute) -> bool:
    return any(isinstance(part, FunctionType) for part in types_inside(type))


def _direct(function: FuncOp, origin: Origin) -> FuncOp:
    """The function that a function with a continuation was."""
    results = origin.type.outputs.data
    answer: Attribute = results[0] if len(results) == 1 else _tuple_type(results)
    block = Block(arg_types=origin.type.inputs)
    for old, new in zip(function.body.block.args, block.args, strict=False):
        new.name_hint = old.name_hint
    arguments = [_with_continuation(value, answer, block) for value in block.args]
    block.add_op(identity := _identity(results))
    params = params_of(function)
    variables = [] if params is None else params.names[:-1]
    given = [*map(VarType, variables), answer]
    call = graph.CallOp(function.sym_name.data, [*arguments, identity.result], [answer], given)
    block.add_op(call)
    values: list[SSAValue] = list(call.results)
    if len(results) != 1:
        fields = [graph.GetOp(call.results[0], number) for number in range(len(results))]
        block.add_ops(fields)
        values = [each.result for each in fields]
    block.add_op(ReturnOp(*values))
    made = FuncOp(origin.name, origin.type, Region(block), visibility=function.sym_visibility)
    made.properties |= origin.described
    if params is not None and variables:
        kinds = params.by_name
        made.attributes[TYPE_PARAMS] = ParamsAttr.of({name: kinds[name] for name in variables})
    for op in (made, *block.ops):
        adopt_location(op, function.location)
    return made


def _tuple_type(types: Sequence[Attribute]) -> TupleType:
    return TupleType(tuple(type for type in types if isinstance(type, TypeAttribute)))


def _identity(types: Sequence[Attribute]) -> graph.LambdaOp:
    """The function of its argument, or of a tuple of its arguments."""
    block = Block(arg_types=types)
    values: Sequence[SSAValue] = block.args
    if len(types) != 1:
        block.add_op(made := graph.TupleOp(values))
        values = made.results
    block.add_op(graph.YieldOp(values))
    return graph.LambdaOp(Region(block))


def _with_continuation(value: SSAValue, answer: Attribute, into: Block) -> SSAValue:
    """An argument that is a function, with a continuation; others as they are."""
    if not isinstance(type := value.type, FunctionType):
        return value
    wanted = in_cps(type, answer)
    assert isinstance(wanted, FunctionType)
    block = Block(arg_types=wanted.inputs)
    *arguments, continuation = block.args
    call: Operation = graph.CallOp(value, arguments, type.outputs.data)
    last = graph.CallOp(continuation, call.results, [answer])
    block.add_ops([call, last, graph.YieldOp(last.results)])
    into.add_op(made := graph.LambdaOp(Region(block)))
    return made.result
