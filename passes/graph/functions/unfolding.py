"""The evaluator of `partial-evaluate`: it runs a function on what is known, and emits the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue
from xdsl.traits import is_side_effect_free

from stepwell.dialects import adt, graph, ref
from stepwell.dialects.constants import array_of
from stepwell.dialects.graph.base import GraphOp, Kind, operand_slots, plain_properties
from stepwell.dialects.graph.functions import captured_values, values_read
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import Tensor, WeightAttr
from stepwell.passes.analysis.effects import WRITE, Effects
from stepwell.passes.analysis.rename_symbols import defined_names
from stepwell.passes.context import count, remark
from stepwell.passes.graph.functions.static_values import (
    Cell,
    Cells,
    Fuel,
    Known,
    KnownArray,
    KnownConstructor,
    KnownData,
    KnownFunction,
    Static,
    fits,
    fuel_of,
)
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import evaluate, has_meaning

MOST_ELEMENTS = 1024
"""The most elements of a tensor whose value is followed."""
MOST_NESTED = 60
"""The most calls that unfold inside each other: each is a few frames of Python."""
_Scope: TypeAlias = dict[SSAValue, Known]
_FAILURES = (ArithmeticError, IndexError, KeyError, TypeError, ValueError)


class Evaluator:
    """
    The partial evaluation of a function: an op is emitted at most once for each of its runs.

    Args: `functions` are those whose calls may unfold; `effects` are the module's.
    """

    def __init__(self, functions: Mapping[str, FuncOp], effects: Effects, weights: WeightStore, budget: int):
        self._functions, self._effects, self._weights = functions, effects, weights
        self._left = budget
        self._calls: list[tuple[Operation, Fuel]] = []
        self._renames: dict[Operation, bool] = {}
        self._steps: Mapping[type[Operation], Callable[[Any, _Scope, Cells, Block], Sequence[Known]]] = {
            graph.ConstantOp: self._constant,
            graph.TupleOp: self._made,
            adt.MakeOp: self._made,
            graph.GetOp: self._get,
            ref.NewOp: self._new,
            ref.ReadOp: self._read,
            ref.WriteOp: self._write,
            graph.LambdaOp: self._lambda,
            graph.FunctionOp: self._function,
            graph.ClosureOp: self._closure,
            graph.IfOp: self._if,
            adt.MatchOp: self._match,
            graph.WhileOp: self._loop,
            graph.ForOp: self._loop,
            graph.CallOp: self._call,
        }

    def evaluated(self, function: FuncOp) -> FuncOp:
        """A function of the same name and type that does the same."""
        made = function.clone_without_regions()
        self._region(function.body, made.regions[0], {}, Cells(), {})
        return made

    def _region(
        self,
        source: Region,
        into: Region,
        scope: Mapping[SSAValue, Known],
        cells: Cells,
        statics: Mapping[SSAValue, Static],
    ) -> None:
        """Evaluate a region for arguments that are not known, but for those in `statics`."""
        block = Block(arg_types=source.block.arg_types)
        into.add_block(block)
        inner = dict(scope)
        for old, new in zip(source.block.args, block.args, strict=True):
            new.name_hint = old.name_hint
            inner[old] = Known(new, statics.get(old))
        given = self._run(source.block, inner, cells, block)
        cells.escape(given)
        last = source.block.last_op
        assert last is not None
        block.add_op(last.clone({old: value.value for old, value in zip(last.operands, given, strict=True)}))

    def _run(self, source: Block, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        """Evaluate the ops of a block, and emit at the end of `out`; returns what its last op gives."""
        last = source.last_op
        assert last is not None
        for op in source.ops:
            if op is not last:
                step = self._steps.get(type(op), self._other)
                results = step(op, scope, cells, out)
                scope.update(zip(op.results, results, strict=True))
        return [scope[value] for value in last.operands]

    def _emit(self, op: Operation, scope: _Scope, out: Block) -> list[Known]:
        """Emit an op as it is."""
        made = op.clone({value: scope[value].value for value in values_read(op)})
        return self._add(made, out)

    def _add(self, made: Operation, out: Block) -> list[Known]:
        self._left -= 1
        out.add_op(made)
        return [Known(result) for result in made.results]

    def _other(self, op: Operation, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        """An op computed, where all operands are known tensors; else the op itself."""
        if (folded := self._folded(op, scope, out)) is not None:
            return folded
        self._leave(op, scope, cells)
        return self._emit(op, scope, out)

    def _leave(self, op: Operation, scope: _Scope, cells: Cells) -> None:
        """Forget the contents of cells that an op may write, and let its operands escape."""
        cells.escape([scope[value] for value in values_read(op)])
        if not is_side_effect_free(op) and WRITE in self._effects.of_op(op):
            cells.forget_escaped()

    def _folded(self, op: Operation, scope: _Scope, out: Block) -> Sequence[Known] | None:
        """The results of an op on known tensors, as constants."""
        statics = {value: scope[value].static for value in op.operands}
        arrays = {value: each.array for value, each in statics.items() if isinstance(each, KnownArray)}
        if (
            len(arrays) < len(statics)
            or not isinstance(op, GraphOp)
            or op.KIND is Kind.STRUCTURE
            or op.regions
            or not has_meaning(op.name)
            or not is_side_effect_free(op)
            or not all(_is_small(result) for result in op.results)
        ):
            return None
        try:
            with np.errstate(all="ignore"):
                operands = [None if slot is None else arrays[slot] for slot in operand_slots(op)]
                found = evaluate(op.name, operands, plain_properties(op))
        except _FAILURES:
            return None
        constants = [graph.ConstantOp.of(array, self._weights, op.name) for array in found]
        for constant in constants:
            adopt_location(constant, op.location)
        if any(made.result.type != old.type for made, old in zip(constants, op.results, strict=True)):
            return None
        count("ops evaluated")
        return [
            Known(self._add(made, out)[0].value, KnownArray(array))
            for made, array in zip(constants, found, strict=True)
        ]

    def _constant(self, op: graph.ConstantOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        (made,) = self._emit(op, scope, out)
        if isinstance(op.value, WeightAttr) or not _is_small(op.result):
            return [made]
        return [Known(made.value, KnownArray(array_of(op.value, self._weights)))]

    def _made(
        self, op: graph.TupleOp | adt.MakeOp, scope: _Scope, cells: Cells, out: Block
    ) -> Sequence[Known]:
        (made,) = self._emit(op, scope, out)
        constructor = op.name_of_constructor if isinstance(op, adt.MakeOp) else "()"
        return [Known(made.value, KnownData(constructor, [scope[value] for value in op.operands]))]

    def _get(self, op: graph.GetOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        static = scope[op.input].static
        if isinstance(static, KnownData):
            found = static.fields[op.index.value.data]
            if found.value.type == op.results[0].type:
                return [found]
        return self._other(op, scope, cells, out)

    def _new(self, op: ref.NewOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        (made,) = self._emit(op, scope, out)
        cell = Cell()
        cells.write(cell, scope[op.value])
        return [Known(made.value, cell)]

    def _read(self, op: ref.ReadOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        cell = scope[op.cell].static
        content = cells.contents.get(cell) if isinstance(cell, Cell) else None
        return self._emit(op, scope, out) if content is None else [content]

    def _write(self, op: ref.WriteOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        cells.write(scope[op.cell].static, scope[op.value])
        return self._emit(op, scope, out)

    def _lambda(self, op: graph.LambdaOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        """A function value: its own code is made for arguments and contents of cells that are not known."""
        function = KnownFunction(op, {value: scope[value] for value in captured_values(op.body)})
        made = op.clone_without_regions()
        itself: dict[SSAValue, Static] = {} if op.itself is None else {op.itself: function}
        # Where it is called, the cells that it captured may be in each other, and in its arguments.
        inner = Cells({}, set(cells.escaped))
        inner.escape(function.captured.values())
        self._region(op.body, made.regions[0], function.captured, inner, itself)
        inner.forget(list(inner.contents))
        return [Known(self._add(made, out)[0].value, function)]

    def _function(self, op: graph.FunctionOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        (made,) = self._emit(op, scope, out)
        if path := op.callee.nested_references.data:
            type = cast(adt.DataType, op.result.type.outputs.data[0])
            return [Known(made.value, KnownConstructor(path[-1].data, type))]
        body = self._functions.get(op.callee.root_reference.data)
        return [made if body is None else Known(made.value, KnownFunction(body, {}))]

    def _closure(self, op: graph.ClosureOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        (made,) = self._emit(op, scope, out)
        body = self._functions.get(op.callee.root_reference.data)
        if body is None:
            self._leave(op, scope, cells)
            return [made]
        return [Known(made.value, KnownFunction(body, {}, [scope[value] for value in op.captured]))]

    def _if(self, op: graph.IfOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        static = scope[op.operands[0]].static
        if isinstance(static, KnownArray):
            arm = op.regions[0 if bool(static.array.flat[0]) else 1]
            if _gives(arm, op):
                count("branches decided")
                return self._run(arm.block, scope, cells, out)
        return self._branches(op, scope, cells, out)

    def _match(self, op: adt.MatchOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        for pattern, case in zip(op.patterns, op.cases, strict=True):
            bound: list[Known] = []
            fit = fits(pattern, scope[op.value], bound)
            if fit is None:
                break
            if fit:
                if not _gives(case, op) or [b.value.type for b in bound] != list(case.block.arg_types):
                    break
                count("matches decided")
                scope.update(zip(case.block.args, bound, strict=True))
                return self._run(case.block, scope, cells, out)
        return self._branches(op, scope, cells, out)

    def _branches(self, op: Operation, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        """An op whose regions may or may not run, each at most once."""
        cells.escape([scope[value] for value in op.operands])
        return self._with_regions(op, scope, cells, out)

    def _loop(self, op: Operation, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        """A loop: cells with writes inside are not known from its begin on."""
        if WRITE in self._effects.of_op(op):
            cells.escape([scope[value] for value in values_read(op)])
            cells.forget(list(cells.contents))
        cells.escape([scope[value] for value in op.operands])
        return self._with_regions(op, scope, cells, out)

    def _with_regions(self, op: Operation, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        made = op.clone_without_regions({value: scope[value].value for value in op.operands})
        copies: list[Cells] = []
        for region, into in zip(op.regions, made.regions, strict=True):
            if region.blocks:
                copies.append(cells.copy())
                self._region(region, into, scope, copies[-1], {})
        cells.join(copies)
        return self._add(made, out)

    def _call(self, op: graph.CallOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        function = self._called(op, scope)
        arguments = [scope[value] for value in op.arguments]
        if isinstance(function, KnownConstructor):
            fields = [argument.value for argument in arguments]
            (made,) = self._add(adt.MakeOp(function.constructor, fields, function.type), out)
            return [Known(made.value, KnownData(function.constructor, arguments))]
        if isinstance(function, KnownFunction):
            given = [*function.first, *arguments]
            if (fuel := self._fuel(op, function.body, given)) is not None:
                itself = None if op.function is None else scope[op.function]
                self._calls.append((function.body, fuel))
                results = self._unfolded(function, itself, given, cells, out)
                self._calls.pop()
                count("calls unfolded")
                return results
        self._leave(op, scope, cells)
        return self._emit(op, scope, out)

    def _called(self, op: graph.CallOp, scope: _Scope) -> Static | None:
        """What a call calls, as far as it is known."""
        if op.callee is None:
            assert op.function is not None
            return scope[op.function].static
        body = self._functions.get(op.callee.root_reference.data)
        return None if body is None else KnownFunction(body, {})

    def _unfolded(
        self,
        function: KnownFunction,
        itself: Known | None,
        arguments: Sequence[Known],
        cells: Cells,
        out: Block,
    ) -> Sequence[Known]:
        """The results of a function's body, evaluated in place of a call."""
        body = function.body
        inner = dict(function.captured)
        parameters: Sequence[SSAValue] = (
            body.arguments if isinstance(body, graph.LambdaOp) else body.body.block.args
        )
        inner.update(zip(parameters, arguments, strict=True))
        if isinstance(body, graph.LambdaOp) and body.itself is not None and itself is not None:
            inner[body.itself] = itself
        return self._run(body.body.block, inner, cells, out)

    def _fuel(
        self, call: graph.CallOp, body: graph.LambdaOp | FuncOp, arguments: Sequence[Known]
    ) -> Fuel | None:
        """The fuel of a call that unfolds; None, with a remark, of one that stays."""
        fuel = fuel_of(arguments)
        if (around := next((each for of, each in reversed(self._calls) if of is body), None)) is not None:
            fuel = tuple(map(min, fuel, around))
            if fuel == around:
                remark(call, "not unfolded: no argument is smaller than in the call around")
                return None
        if not self._fits(call, body, [argument.value.type for argument in arguments]):
            remark(call, "not unfolded: the function has no body, or sizes of its own")
        elif self._left <= 0:
            remark(call, "not unfolded: the function has reached the budget of ops")
        elif len(self._calls) >= MOST_NESTED:
            remark(call, f"not unfolded: it is inside of {MOST_NESTED} calls that do")
        else:
            return fuel
        return None

    def _fits(
        self, call: graph.CallOp, body: graph.LambdaOp | FuncOp, arguments: Sequence[Attribute]
    ) -> bool:
        """Whether a body can stand for a call: of the very types, and without symbols that it defines."""
        if isinstance(body, FuncOp):
            if len(body.body.blocks) != 1 or "skip_optimization" in body.attributes:
                return False
            type: FunctionType = body.function_type
        else:
            type = body.result.type
        if body not in self._renames:
            self._renames[body] = bool(defined_names(body.body))
        same = list(type.inputs) == list(arguments) and _gives(body.body, call)
        return same and not self._renames[body]


def _gives(region: Region, op: Operation) -> bool:
    """Whether the last op of a region gives values of the very types of an op's results."""
    last = region.block.last_op
    return last is not None and list(last.operand_types) == list(op.result_types)


def _is_small(value: OpResult) -> bool:
    """Whether a value is a tensor of known sizes, of at most `MOST_ELEMENTS` elements."""
    if value.type.name != TensorType.name:
        return False
    shape = cast(Tensor, value.type).get_shape()
    return all(size >= 0 for size in shape) and prod(shape) <= MOST_ELEMENTS
