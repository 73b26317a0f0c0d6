"""The evaluator of `partial-evaluate`: it runs a function on known values, and emits the other ops."""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from stepwell.dialects import adt, graph, ref
from stepwell.dialects.constants import array_of
from stepwell.dialects.graph.functions import captured_values, values_read
from stepwell.dialects.types import WeightAttr
from stepwell.passes.analysis.effects import WRITE, Effects
from stepwell.passes.analysis.rename_symbols import defined_names
from stepwell.passes.context import count, remark
from stepwell.passes.graph.functions.computed_ops import computed, is_small
from stepwell.passes.graph.functions.deciding_parameters import deciding_parameters
from stepwell.passes.graph.functions.static_values import (
    UNKNOWN_SIZE,
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
from stepwell.runtime.meaning import Array

_Scope: TypeAlias = dict[SSAValue, Known]
_Evaluating: TypeAlias = Generator["_Evaluating", Any, Sequence[Known]]
"""The evaluation of a block or op: gives those inside that it waits for, and returns the values."""
_Step: TypeAlias = Callable[[Any, _Scope, Cells, Block], Sequence[Known] | _Evaluating]


class Evaluator:
    """
    The partial evaluation of a function: an op is emitted at most once for each of its runs.

    Calls can nest as deep as the budget allows: an evaluation that waits for another one is a generator, not
    a frame of Python's stack.

    Args: `functions` are the functions whose calls can be unfolded, `recursive` names those that call
    themselves; `effects` are the module's.
    """

    def __init__(
        self,
        functions: Mapping[str, FuncOp],
        recursive: Container[str],
        effects: Effects,
        weights: WeightStore,
        budget: int,
    ):
        self._functions, self._effects, self._weights = functions, effects, weights
        self._left = budget
        self._around: dict[Operation, list[Fuel]] = {}
        """The fuel of the calls of each function around the op that is being evaluated."""
        self._recursive = recursive
        self._deciding: dict[Operation, Sequence[bool]] = {}
        self._renames: dict[Operation, bool] = {}
        self._steps: Mapping[type[Operation], _Step] = {
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
        self._around[function] = [fuel_of(map(Known, function.args))]
        _finished(self._region(function.body, made.regions[0], {}, Cells(), {}))
        return made

    def _region(
        self,
        source: Region,
        into: Region,
        scope: Mapping[SSAValue, Known],
        cells: Cells,
        statics: Mapping[SSAValue, Static],
    ) -> _Evaluating:
        """A region evaluated for arguments that are not known, but for those in `statics`."""
        block = Block(arg_types=source.block.arg_types)
        into.add_block(block)
        inner = dict(scope)
        for old, new in zip(source.block.args, block.args, strict=True):
            new.name_hint = old.name_hint
            inner[old] = Known(new, statics.get(old))
        given = yield self._run(source.block, inner, cells, block)
        cells.escape(given)
        last = source.block.last_op
        assert last is not None
        block.add_op(last.clone({old: value.value for old, value in zip(last.operands, given, strict=True)}))
        return given

    def _run(self, source: Block, scope: _Scope, cells: Cells, out: Block) -> _Evaluating:
        """The ops of a block evaluated, and emitted at the end of `out`; returns what its last op gives."""
        last = source.last_op
        assert last is not None
        for op in source.ops:
            if op is not last:
                step = self._steps.get(type(op), self._other)
                results = step(op, scope, cells, out)
                if isinstance(results, Generator):
                    results = yield results
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
        arrays: dict[SSAValue, Array] = {}
        for value in op.operands:
            if not isinstance(static := scope[value].static, KnownArray):
                return None
            arrays[value] = static.array
        if (made := computed(op, arrays, self._weights)) is None:
            return None
        count("ops evaluated")
        return [Known(self._add(constant, out)[0].value, KnownArray(array)) for constant, array in made]

    def _constant(self, op: graph.ConstantOp, scope: _Scope, cells: Cells, out: Block) -> Sequence[Known]:
        (made,) = self._emit(op, scope, out)
        if isinstance(op.value, WeightAttr) or not is_small(op.result):
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

    def _lambda(self, op: graph.LambdaOp, scope: _Scope, cells: Cells, out: Block) -> _Evaluating:
        """A function value: its own code is made for arguments and contents of cells that are not known."""
        function = KnownFunction(op, {value: scope[value] for value in captured_values(op.body)})
        made = op.clone_without_regions()
        itself: dict[SSAValue, Static] = {} if op.itself is None else {op.itself: function}
        # At its calls, the captured cells can contain each other, and arguments can contain them.
        inner = Cells({}, set(cells.escaped))
        inner.escape(function.captured.values())
        yield self._region(op.body, made.regions[0], function.captured, inner, itself)
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

    def _if(self, op: graph.IfOp, scope: _Scope, cells: Cells, out: Block) -> _Evaluating:
        static = scope[op.operands[0]].static
        if isinstance(static, KnownArray):
            arm = op.regions[0 if bool(static.array.flat[0]) else 1]
            if _gives(arm, op):
                count("branches decided")
                return self._run(arm.block, scope, cells, out)
        return self._branches(op, scope, cells, out)

    def _match(self, op: adt.MatchOp, scope: _Scope, cells: Cells, out: Block) -> _Evaluating:
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

    def _branches(self, op: Operation, scope: _Scope, cells: Cells, out: Block) -> _Evaluating:
        """An op whose regions may or may not run, each at most once."""
        cells.escape([scope[value] for value in op.operands])
        return self._with_regions(op, scope, cells, out)

    def _loop(self, op: Operation, scope: _Scope, cells: Cells, out: Block) -> _Evaluating:
        """A loop: cells that it may write are not known from its begin on."""
        if WRITE in self._effects.of_op(op):
            self._forget_written(op, scope, cells)
        cells.escape([scope[value] for value in op.operands])
        return self._with_regions(op, scope, cells, out)

    def _forget_written(self, loop: Operation, scope: _Scope, cells: Cells) -> None:
        """Forget the contents of the cells that a loop writes, and of others where it writes unseen ones."""
        writes = [op for op in loop.walk() if isinstance(op, ref.WriteOp)]
        targets = [scope[op.cell].static if op.cell in scope else None for op in writes]
        calls = [op for op in loop.walk() if not op.regions and not isinstance(op, ref.WriteOp)]
        is_seen = all(isinstance(target, Cell) for target in targets)
        if not is_seen or any(WRITE in self._effects.of_op(op) for op in calls):
            cells.escape([scope[value] for value in values_read(loop)])
            cells.forget_escaped()
        cells.forget([target for target in targets if isinstance(target, Cell)])

    def _with_regions(self, op: Operation, scope: _Scope, cells: Cells, out: Block) -> _Evaluating:
        made = op.clone_without_regions({value: scope[value].value for value in op.operands})
        copies: list[Cells] = []
        for region, into in zip(op.regions, made.regions, strict=True):
            if region.blocks:
                copies.append(cells.copy())
                yield self._region(region, into, scope, copies[-1], {})
        cells.join(copies)
        return self._add(made, out)

    def _call(self, op: graph.CallOp, scope: _Scope, cells: Cells, out: Block) -> _Evaluating:
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
                around = self._around.setdefault(function.body, [])
                around.append(fuel)
                self._left -= 1
                results = yield self._unfolded(function, itself, given, cells, out)
                around.pop()
                count("calls unfolded")
                return results
        self._leave(op, scope, cells)
        return self._emit(op, scope, out)

    def _called(self, op: graph.CallOp, scope: _Scope) -> Static | None:
        """The function that is called, if it is known."""
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
    ) -> _Evaluating:
        """A function's body evaluated in place of a call."""
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
        if body not in self._deciding:
            self._deciding[body] = deciding_parameters(body)
        pairs = zip(fuel_of(arguments), self._deciding[body], strict=False)
        fuel = tuple(size if decides else UNKNOWN_SIZE for size, decides in pairs)
        if around := self._around.get(body):
            fuel = tuple(map(min, fuel, around[-1]))
            if fuel == around[-1]:
                remark(call, "not unfolded: no argument is smaller than in the call around")
                return None
        elif self._is_recursive(body) and all(size == UNKNOWN_SIZE for size in fuel):
            remark(call, "not unfolded: the function calls itself, and no argument's size is known")
            return None
        if not self._fits(call, body, [argument.value.type for argument in arguments]):
            remark(call, "not unfolded: the function has no body, or sizes of its own")
        elif self._left <= 0:
            remark(call, "not unfolded: the function has reached the budget of ops")
        else:
            return fuel
        return None

    def _is_recursive(self, body: graph.LambdaOp | FuncOp) -> bool:
        if isinstance(body, graph.LambdaOp):
            return body.itself is not None
        return body.sym_name.data in self._recursive

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


def _finished(evaluating: _Evaluating) -> Sequence[Known]:
    """The values of an evaluation, with those awaited."""
    stack = [evaluating]
    value: Sequence[Known] | None = None
    while True:
        try:
            inner = stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            value = stop.value
            if not stack:
                return stop.value
        else:
            stack.append(inner)
            value = None


def _gives(region: Region, op: Operation) -> bool:
    """Whether the last op of a region gives values of the very types of an op's results."""
    last = region.block.last_op
    return last is not None and list(last.operand_types) == list(op.result_types)
