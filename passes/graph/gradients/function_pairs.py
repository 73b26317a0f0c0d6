"""Functions with tapes: for each recursive function, one forward and one backward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import adt, graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.adt.definitions import definition_named
from stepwell.dialects.adt.patterns import BOUND, PatternAttr
from stepwell.dialects.type_variables import mapped_type
from stepwell.dialects.types import dims_of
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.passes.analysis.dead_ops import erase_dead_ops
from stepwell.passes.analysis.rename_symbols import symbols_named
from stepwell.passes.analysis.tangents import Tangents
from stepwell.passes.analysis.type_substitution import map_types
from stepwell.passes.graph.gradients.builder import GradientBuilder, Pair
from stepwell.passes.graph.gradients.data_sums import DataSums
from stepwell.passes.graph.gradients.options import Options
from stepwell.passes.graph.gradients.straight_line import straight_line
from stepwell.passes.graph.gradients.sweep import Sweep
from stepwell.passes.graph.gradients.tapes import Tape, mark
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

_Prepare = Callable[[FuncOp], None]


class FunctionPairs(DataSums):
    """
    Facts that the gradients of a module share: tangents, sums of data, and functions with tapes.

    ```mlir
    func.func @f(%x: tensor<f32>, %n: tensor<i64>) -> tensor<f32> { … graph.call @f(%x, %m) … }
    // ->
    func.func private @f.forward(%x: tensor<f32>, %n: tensor<i64>) -> (tensor<f32>, !adt.data<@f.tape>)
    func.func private @f.backward(%t: !adt.data<@f.tape>, %dy: tensor<f32>) -> tensor<f32>
    ```
    The tape has what the second function reads of the first, and the tapes of the calls in it; of a function
    that calls itself it is a recursive data type, as deep as the recursion went. Source: Pearlmutter and
    Siskind, "Reverse-mode AD in a functional framework" (TOPLAS 2008), with data in the place of closures.

    Args: `prepare` writes out the derivatives in a function before it is differentiated itself.
    """

    def __init__(
        self,
        module: ModuleOp,
        weights: WeightStore,
        prepare: _Prepare,
        options: Options,
        *,
        straight_through: bool = False,
    ):
        super().__init__(Tangents(module, straight_through=straight_through), options)
        self._module, self._weights, self._prepare = module, weights, prepare
        self._pairs: dict[tuple[str, tuple[int, ...]], Pair] = {}
        self._tapes: list[str] = []
        """The function that is being written, and the tapes of its arms."""

    def pair(self, op: graph.CallOp, active: Sequence[int]) -> Pair:
        """
        The functions that compute the results of a call, and the cotangents of its arguments `active`.

        Raises: StepwellError `no-derivative` for a function without a body.
        """
        assert op.callee is not None
        name = op.callee.string_value()
        key = name, tuple(active)
        if key not in self._pairs:
            function = functions_by_name(self._module).get(name)
            if function is None or function.is_declaration:
                message = f"no derivative is known of @{name}, which has no body"
                raise StepwellError("no-derivative", op, message, help="give one: graph.derivative")
            self._prepare(function)
            self._write(function, key)
        return self._pairs[key]

    def tape_name(self) -> str:
        """A name for the data type of another tape of the function that is being written."""
        name = self.tangents.fresh(f"{self._tapes[0]}.tape_{len(self._tapes) - 1}")
        self._tapes.append(name)
        return name

    def naming_tapes(self, name: str) -> list[str]:
        """Name tapes after another function from now on; returns what to restore by `restore_tapes`."""
        before, self._tapes = self._tapes, [name]
        return before

    def restore_tapes(self, before: list[str]) -> None:
        """Name tapes after the function again that is written around."""
        self._tapes = before

    def _write(self, function: FuncOp, key: tuple[str, tuple[int, ...]]) -> None:
        """Write both functions."""
        name, active = key
        every = [number for number, value in enumerate(function.args) if self.tangents.has(value)]
        suffix = "" if list(active) == every else "_" + "_".join(map(str, active))
        names = [self.tangents.fresh(f"{name}.{each}{suffix}") for each in ("forward", "backward", "tape")]
        type = adt.DataType.of(names[2])
        self._pairs[key] = Pair(names[0], names[1], type)
        before = self.naming_tapes(names[2].replace(".tape", "", 1))
        line = straight_line(function, self._module, self._weights, self.tangents.fresh, self.options)
        line.properties["sym_name"] = StringAttr(names[0])
        made = self._split(as_private(line), names[1], active, type)
        for each in (line, made):
            erase_dead_ops(each.body.block)
        self._module.body.block.insert_ops_after([line, made], function)
        self.restore_tapes(before)

    def _split(self, line: FuncOp, name: str, active: Sequence[int], type: adt.DataType) -> FuncOp:
        """Let a copy of a function return a tape too, and give the function that takes the tape."""
        block = line.body.block
        last = cast(ReturnOp, block.last_op)
        b = GradientBuilder(Builder(InsertPoint.before(last)), self._weights, shared=self, splits=True)
        arguments = [block.args[number] for number in active]
        reverse = Sweep(arguments, list(block.ops)[:-1], self.tangents)
        reverse.expect_rules()
        marked = mark(b)
        cotangents: list[SSAValue] = []
        for result in [value for value in last.operands if self.tangents.has(value)]:
            cotangents.append(block.insert_arg(b.tangent(result), len(block.args)))
            reverse.add(result, cotangents[-1], b)
        found = reverse.run(b)
        known = {
            s for value in cotangents for dim in _dims(value) for s in dim.symbols() if dim == Dim.symbol(s)
        }
        sizes = {s for op in line.walk() for s in symbols_named(op)}
        sizes |= {s for value in block.args for dim in _dims(value) for s in dim.symbols()}
        tape = Tape.of(marked, found, lambda value: value not in cotangents, sizes - known)
        made = self._backward(line, name, type, tape, cotangents, found)
        for value in cotangents:
            block.erase_arg(cast(BlockArgument, value))
        only = tape.values[0] if len(tape.values) == 1 and not tape.sizes else None
        if only is not None and isinstance(only.type, adt.DataType) and only.type.symbol in self._tapes[1:]:
            last.operands = [*last.operands, only]
            self._as_tape(only.type.symbol, type, (line, made))
        else:
            self.tangents.define(type.symbol, [("Tape", tape.types())])
            last.operands = [*last.operands, b.insert(adt.MakeOp("Tape", tape.packed(b), type))]
        line.properties["function_type"] = FunctionType.from_lists(block.arg_types, last.operand_types)
        return made

    def _backward(
        self,
        line: FuncOp,
        name: str,
        type: adt.DataType,
        tape: Tape,
        cotangents: Sequence[SSAValue],
        found: Sequence[SSAValue],
    ) -> FuncOp:
        """The function from a tape and cotangents to the cotangents of the arguments that are wanted."""
        block = Block(arg_types=[type, *(value.type for value in cotangents)])
        block.add_op(last := ReturnOp())
        made = FuncOp(name, ([], []), Region(block), visibility=StringAttr("private"))
        made.location = line.location
        b = GradientBuilder(Builder(InsertPoint.before(last)), self._weights, shared=self)
        for old, new in zip(cotangents, block.args[1:], strict=True):
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        renamed = dict(zip(cotangents, block.args[1:], strict=True))
        found = [renamed.get(value, value) for value in found]
        types = tape.types()
        if len(tape.values) == 1 and not tape.sizes and types[0] in [*map(adt.DataType.of, self._tapes[1:])]:
            fields: Sequence[SSAValue] = [block.args[0]]
            set_type(block.args[0], types[0])
        else:
            inner = Block(arg_types=types)
            inner.add_op(graph.YieldOp(inner.args))
            pattern = PatternAttr.of("Tape", [PatternAttr.of(BOUND)] * len(types))
            fields = b.rewriter.insert(adt.MatchOp(block.args[0], [pattern], [Region(inner)], types)).results
        block.args[0].name_hint = "tape"
        last.operands = tape.unpacked(fields, found, b)
        made.properties["function_type"] = FunctionType.from_lists(block.arg_types, last.operand_types)
        return made

    def _as_tape(self, old: str, type: adt.DataType, functions: Sequence[FuncOp]) -> None:
        """Let the tape of the arms of a function be the tape of the function: give it its name."""

        def renamed(part: Attribute) -> Attribute:
            return type if isinstance(part, adt.DataType) and part.symbol == old else part

        for function in functions:
            map_types(function, lambda each: mapped_type(each, renamed))
            for op in function.walk():
                if isinstance(op, adt.MakeOp) and op.constructor.root_reference.data == old:
                    op.properties["constructor"] = SymbolRefAttr(type.symbol, [op.name_of_constructor])
        definition_named(old, self._module).properties["sym_name"] = StringAttr(type.symbol)


def as_private(function: FuncOp) -> FuncOp:
    """A function that is private, without names of arguments and results."""
    function.properties["sym_visibility"] = StringAttr("private")
    for given in ("arg_attrs", "res_attrs"):
        function.properties.pop(given, None)
    return function


def _dims(value: SSAValue) -> Sequence[Dim]:
    return dims_of(value.type) if value.type.name == TensorType.name else ()
