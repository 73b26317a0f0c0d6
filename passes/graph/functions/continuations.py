"""Continuation-passing style: what follows a call is a function of the results of the call."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, i64
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import adt, graph
from stepwell.dialects.graph.functions import values_read
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.type_variables import TYPE_PARAMS, ParamsAttr, VarType, mapped_type
from stepwell.dialects.types import tensor_type
from stepwell.passes.analysis.effects import run_by
from stepwell.passes.analysis.rename_symbols import missing_symbols
from stepwell.passes.analysis.symbol_names import SymbolNames
from stepwell.passes.context import count
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


def with_continuation(type: FunctionType, answer: Attribute) -> FunctionType:
    """The type of a function with a continuation, for a function type whose parts have theirs."""
    continuation = FunctionType.from_lists(list(type.outputs), [answer])
    return FunctionType.from_lists([*type.inputs, continuation], [answer])


def in_cps(type: Attribute, answer: Attribute) -> Attribute:
    """A type with a continuation in each function type."""

    def of_function(part: Attribute) -> Attribute:
        return with_continuation(part, answer) if isinstance(part, FunctionType) else part

    return mapped_type(type, of_function)


def results_of(type: FunctionType) -> Sequence[Attribute]:
    """The results that a function with a continuation gives to it."""
    return cast(FunctionType, type.inputs.data[-1]).inputs.data


@dataclass
class Continuations:
    """
    The conversion of a function's blocks, and of its lambdas'.

    Args: `names` are the new names of the functions that get a continuation; `name` is the function's own;
    `params` are its type variables, with the variable of the answer.
    """

    module: ModuleOp
    symbols: SymbolNames
    names: Mapping[str, str]
    name: str
    params: ParamsAttr
    answer: VarType

    def convert(self, block: Block, continuation: SSAValue) -> None:
        """Let a block end with a call in tail position, of the continuation or with a continuation."""
        *ops, last = block.ops
        if ops and self.calls(ops[-1]) and list(ops[-1].results) == list(last.operands):
            last.detach()
            op = ops.pop()
            op.detach()
            called = self._called(op, continuation)
        else:
            last.detach()
            called = graph.CallOp(continuation, last.operands, [self.answer])
            adopt_location(called, last.location)
        end: deque[Operation] = deque([called])
        for op in reversed(ops):
            op.detach()
            if not self.calls(op):
                end.appendleft(op)
                continue
            follows = self._follows(end, op)
            end = deque([follows, self._called(op, follows.result)])
        answer = end[-1].results
        block.add_ops([*end, ReturnOp(*answer) if isinstance(last, ReturnOp) else graph.YieldOp(answer)])
        last.erase(safe_erase=False)

    def convert_values(self, root: Operation) -> None:
        """Let lambdas take a continuation, and the functions and constructors that are values."""
        ops = list(root.walk())
        for op in reversed(ops):  # those inside first
            if isinstance(op, graph.LambdaOp):
                block = op.body.block
                continuation = block.insert_arg(op.result.type.inputs.data[-1], len(block.args))
                continuation.name_hint = "k"
                self.convert(block, continuation)
        for op in ops:
            if isinstance(op, graph.FunctionOp | graph.ClosureOp):
                self._convert_value(op)

    def calls(self, op: Operation) -> bool:
        """Whether an op, or an op of its regions but lambdas, calls a function with a continuation."""
        return any(map(self._is_call, run_by(op)))

    def _is_call(self, op: Operation) -> bool:
        if isinstance(op, graph.CallOp) and op.callee is None:
            return True
        if isinstance(op, graph.CallOp | CallOp) and op.callee is not None:
            return op.callee.root_reference.data in self.names
        return False

    def _called(self, op: Operation, continuation: SSAValue) -> Operation:
        """The call, or branch with calls, with a continuation; its result is the answer."""
        if isinstance(op, graph.CallOp) and op.callee is None:
            assert op.function is not None
            made: Operation = graph.CallOp(op.function, [*op.arguments, continuation], [self.answer])
        elif isinstance(op, graph.CallOp | CallOp):
            assert op.callee is not None
            given = op.type_args.data if isinstance(op, graph.CallOp) and op.type_args is not None else ()
            name = self.names[op.callee.root_reference.data]
            arguments = [*op.arguments, continuation]
            made = graph.CallOp(name, arguments, [self.answer], [*given, self.answer])
        else:
            made = self._branch(op, continuation)
        adopt_location(made, op.location)
        op.erase(safe_erase=False)
        return made

    def _branch(self, op: Operation, continuation: SSAValue) -> Operation:
        """A branch whose regions all pass their results to the continuation."""
        if isinstance(op, graph.LoopOp):
            message = f"{op.name} has calls inside, whose continuations would leave the loop"
            raise StepwellError("unsupported", op, message, help="run loops-to-calls before")
        if not isinstance(op, graph.IfOp | adt.MatchOp):
            raise StepwellError("unsupported", op, f"{op.name} has calls inside")
        if isinstance(op, graph.IfOp) and op.names:
            message = "a branch with calls cannot define the sizes of its results"
            raise StepwellError("unsupported", op, message, help="let the sizes of its results be unknown")
        regions = [op.detach_region(region) for region in list(op.regions)]
        for region in regions:
            self.convert(region.block, continuation)
        return type(op).create(
            operands=op.operands, result_types=[self.answer], properties=op.properties, regions=regions
        )

    def _follows(self, ops: Iterable[Operation], call: Operation) -> graph.LambdaOp:
        """
        The continuation of a call: a function of the ops after the call, with captured values as arguments.

        ```mlir
        %k = graph.lambda (%r: tensor<i64>) -> (!graph.var<"Ans">) {
          %a = graph.call @main_cps_0<!graph.var<"Ans">>(%x, %c, %r) : (tensor<i64>, (tensor<i64>) -> !graph.var<"Ans">, tensor<i64>) -> !graph.var<"Ans">
          graph.yield %a : !graph.var<"Ans">
        } …
        ```
        So continuations are side by side: a chain of calls does not nest.
        """  # noqa: E501
        count("continuations")
        ops = list(ops)
        made = {result for op in ops for result in op.results}
        read = dict.fromkeys(value for op in ops for value in values_read(op))
        outer = [value for value in read if value not in made and value not in call.results]
        constants = [value for value in outer if isinstance(value.owner, graph.ConstantOp)]
        captured = [value for value in outer if value not in constants]
        block = Block(arg_types=[value.type for value in (*captured, *call.results)])
        known: dict[SSAValue, SSAValue] = {}
        for old, new in zip((*captured, *call.results), block.args, strict=True):
            new.name_hint, known[old] = old.name_hint, new
        for value in constants:
            assert isinstance(value.owner, graph.ConstantOp)
            block.add_op(value.owner.clone(known))
        for op in ops:
            for inner in op.walk():
                inner.operands = [known.get(value, value) for value in inner.operands]
        block.add_ops([*ops, ReturnOp(*ops[-1].results)])
        missing = self._add_missing_sizes(block)
        function = FuncOp(
            self.symbols.numbered(self.name),
            (list(block.arg_types), [self.answer]),
            Region(block),
            visibility=StringAttr("private"),
        )
        function.attributes[TYPE_PARAMS] = self.params
        adopt_location(function, call.location)
        self.module.body.block.add_op(function)
        return self._given_by(function, captured, call, missing)

    def _add_missing_sizes(self, block: Block) -> Sequence[str]:
        """The sizes that no argument of a continuation has: it gets them as numbers."""
        region = Region(block)
        missing = missing_symbols([region], block.arg_types)
        region.detach_block(block)
        if missing:
            sizes = block.insert_arg(tensor_type(i64, [len(missing)]), len(block.args))
            Rewriter.insert_op(graph.BindSizesOp(sizes, missing), InsertPoint.at_start(block))
        return missing

    def _given_by(
        self, function: FuncOp, captured: Sequence[SSAValue], call: Operation, missing: Sequence[str]
    ) -> graph.LambdaOp:
        """The lambda that gives the results of an op to a function, after captured values."""
        block = Block(arg_types=call.result_types)
        arguments = [*captured, *block.args]
        if missing:
            block.add_op(sizes := graph.ExtentsOp([Dim.symbol(name) for name in missing]))
            arguments.append(sizes.result)
        types = [VarType(name) for name in self.params.names]
        block.add_op(called := graph.CallOp(function.sym_name.data, arguments, [self.answer], types))
        adopt_location(called, call.location)
        block.add_op(graph.YieldOp(called.results))
        made = graph.LambdaOp(Region(block))
        made.result.name_hint = "k"
        adopt_location(made, call.location)
        return made

    def _convert_value(self, op: graph.FunctionOp | graph.ClosureOp) -> None:
        """A function value with a continuation: of a constructor and of an outer function, by a lambda."""
        type, name = op.result.type, op.callee.root_reference.data
        given = op.type_args.data if isinstance(op, graph.FunctionOp) and op.type_args is not None else ()
        if isinstance(op, graph.FunctionOp) and not op.callee.nested_references.data and name in self.names:
            made: Operation = graph.FunctionOp.create(
                result_types=[type],
                properties=graph.CallOp(self.names[name], [], [], [*given, self.answer]).properties,
            )
        else:
            block = Block(arg_types=type.inputs)
            *arguments, continuation = block.args
            captured = op.captured if isinstance(op, graph.ClosureOp) else ()
            if path := op.callee.nested_references.data:
                data = cast(adt.DataType, results_of(type)[0])
                called: Operation = adt.MakeOp(path[-1].data, arguments, data)
            else:
                called = graph.CallOp(name, [*captured, *arguments], results_of(type), given)
            block.add_ops([called, graph.YieldOp(called.results)])
            self.convert(block, continuation)
            made = graph.LambdaOp(Region(block))
        adopt_location(made, op.location)
        Rewriter.replace_op(op, made)
