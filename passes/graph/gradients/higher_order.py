"""Reverse mode by closures: each op adds a step to the function in a cell, which computes the cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import FunctionType, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import adt, graph, ref
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.gradients import is_float
from stepwell.dialects.locations import adopt_location
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.duals import STEPS, Duals
from stepwell.passes.graph.gradients.function_pairs import FunctionPairs, as_private
from stepwell.passes.graph.gradients.rules import rule_of, zero
from stepwell.passes.graph.gradients.straight_line import straight_line
from stepwell.passes.graph.gradients.sweep import no_derivative
from stepwell.passes.graph.gradients.without_derivative import is_structure
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


class HigherOrder:
    """
    Functions on duals, for programs with cells and with function values that are not known.

    ```mlir
    %y = graph.exp %x : tensor<f32> -> tensor<f32>
    // ->
    %v = graph.get %x [0] : tuple<tensor<f32>, !ref.cell<tensor<f32>>> -> tensor<f32>
    %e = graph.exp %v : tensor<f32> -> tensor<f32>
    %c = ref.new %zero : tensor<f32> -> !ref.cell<tensor<f32>>
    %y = graph.tuple %e, %c : tensor<f32>, !ref.cell<tensor<f32>>
    %before = ref.read %bp : !ref.cell<() -> ()> -> () -> ()
    %step = graph.lambda () -> () {
      %dy = ref.read %c : !ref.cell<tensor<f32>> -> tensor<f32>
      … the cotangent of %x in the second field of %x grows by %dy times %e
      graph.call %before() : () -> ()
      graph.yield
    }
    ref.write %bp, %step : !ref.cell<() -> ()>, () -> ()
    ```
    All functions take the cell `%bp` first. Source: Pearlmutter and Siskind, "Reverse-mode AD in a functional
    framework" (TOPLAS 2008); Wang et al., "Demystifying differentiable programming" (ICFP 2019).
    """

    def __init__(self, shared: FunctionPairs, weights: WeightStore, prepare: Callable[[FuncOp], None]):
        self._shared, self._weights, self._prepare = shared, weights, prepare
        self._module = shared.tangents.module
        self._duals = Duals(shared)
        self._names: dict[str, str] = {}

    def differentiated(self, function: FuncOp, wrt: Sequence[int], name: str, *, cotangents: bool) -> FuncOp:
        """
        A private function that returns what `function` does, then the cotangents of the arguments `wrt`.

        Raises: StepwellError `no-derivative`, with all ops that have none.
        """
        inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
        tangents = self._shared.tangents
        seeds = [tangents.inside(type) for type in outputs if tangents.of(type) is not None]
        block = Block(arg_types=[*inputs, *(seeds if cotangents else [])])
        block.add_op(last := ReturnOp())
        made = FuncOp(name, ([], []), Region(block), visibility=StringAttr("private"))
        made.location = function.location
        b = GradientBuilder(Builder(InsertPoint.before(last)), self._weights, shared=self._shared)
        for old, new in zip(function.args, block.args, strict=False):
            new.name_hint = old.name_hint
        nothing = Region(Block([graph.YieldOp([])]))
        steps = b.insert(ref.NewOp(b.insert(graph.LambdaOp(nothing))))
        steps.name_hint = "bp"
        arguments = [self._duals.wrapped(value, b) for value in block.args[: len(inputs)]]
        callee = self._dual(function)
        results = b.call(callee, [steps, *arguments], self._duals.all(outputs))
        given = iter(block.args[len(inputs) :])
        for place, (dual, type) in enumerate(zip(results, outputs, strict=True)):
            if tangents.of(type) is None:
                continue
            if cotangents:
                self._duals.seed(dual, next(given), b)
            elif place == 0 and is_float(type):
                self._duals.seed(dual, b.full(1.0, b.get(dual, 0)), b)
        b.rewriter.insert(graph.CallOp(b.insert(ref.ReadOp(steps)), [], []))
        last.operands = [
            *(self._duals.value(dual, b) for dual in results),
            *(self._duals.cotangent(arguments[number], b) for number in wrt),
        ]
        made.properties["function_type"] = FunctionType.from_lists(block.arg_types, last.operand_types)
        return made

    def _dual(self, function: FuncOp) -> str:
        """The name of a function on duals, which is written at its first use."""
        name = function.sym_name.data
        if name not in self._names:
            self._prepare(function)
            self._names[name] = self._shared.tangents.fresh(f"{name}.dual")
            made = as_private(
                straight_line(
                    function, self._module, self._weights, self._shared.tangents.fresh, self._shared.options
                )
            )
            made.properties["sym_name"] = StringAttr(self._names[name])
            body = made.body
            block = body.block
            steps = block.insert_arg(STEPS, 0)
            steps.name_hint = "bp"
            self._expect_rules(body)
            self._block(block, steps)
            types = FunctionType.from_lists(
                block.arg_types, block.last_op.operand_types if block.last_op else []
            )
            made.properties["function_type"] = types
            self._module.body.block.insert_op_after(made, function)
        return self._names[name]

    def _expect_rules(self, body: Region) -> None:
        """Require a rule of each op on floats. Raises: StepwellError `no-derivative`."""
        missing = [
            op for op in body.walk() if not is_structure(op) and _is_active(op) and rule_of(op) is None
        ]
        if missing:
            raise no_derivative(missing)

    def _block(self, block: Block, steps: SSAValue) -> None:
        """Let the ops of a block compute duals."""
        for argument in block.args:
            if argument is not steps:
                set_type(argument, self._duals.of(argument.type))
        for op in list(block.ops):
            if is_structure(op):
                self._structure(op, steps)
            else:
                self._tensors(op, steps)

    def _structure(self, op: Operation, steps: SSAValue) -> None:
        """Let an op that moves values move duals."""
        if isinstance(op, graph.IfOp | graph.LoopOp) and (op.names or getattr(op, "carries", None)):
            message = "sizes that a branch or loop changes have no derivative in mode higher-order"
            raise StepwellError("no-derivative", op, message, help="use gradient{mode=first-order}")
        inner = steps
        if isinstance(op, graph.LambdaOp):
            inner = op.body.block.insert_arg(STEPS, len(op.body.block.args) - len(op.arguments))
        for region in op.regions:
            self._block(region.block, inner)
        for result in op.results:
            set_type(result, self._duals.of(result.type))
        if isinstance(op, graph.CallOp):
            place = 0 if op.callee is not None else 1
            op.operands = [*op.operands[:place], steps, *op.operands[place:]]
        if isinstance(op, graph.CallOp | graph.FunctionOp) and op.callee is not None:
            op.properties["callee"] = SymbolRefAttr(self._named(op, op.callee))
        if isinstance(op, adt.MakeOp):
            op.properties["constructor"] = SymbolRefAttr(op.result.type.symbol, [op.name_of_constructor])

    def _named(self, op: Operation, symbol: SymbolRefAttr) -> str:
        """The function on duals of one that an op names."""
        function = functions_by_name(self._module).get(symbol.root_reference.data)
        if function is None or function.is_declaration or symbol.nested_references.data:
            message = f"no derivative is known of {symbol}, which has no body"
            raise StepwellError("no-derivative", op, message, help="give one: graph.derivative")
        return self._dual(function)

    def _tensors(self, op: Operation, steps: SSAValue) -> None:
        """Let an op on tensors read the values of duals, and add its step."""
        before = GradientBuilder(Builder(InsertPoint.before(op)), self._weights, shared=self._shared)
        duals = list(op.operands)
        op.operands = [self._duals.value(each, before) if _is_dual(each) else each for each in duals]
        found = [result for result in op.results if is_float(result.type)]
        following = op.next_op
        if not found or following is None:
            return
        b = before.before(following)
        pairs: dict[SSAValue, SSAValue] = {}
        for result in found:
            pair = graph.TupleOp([result, b.insert(ref.NewOp(b.zeros(result)))])
            made: set[Operation] = {op, pair, *_between(op, following)}
            b.rewriter.insert(pair)
            pair.result.name_hint = result.name_hint
            result.replace_uses_with_if(pair.result, lambda use, made=made: use.operation not in made)
            pairs[result] = pair.result
        if _is_active(op) and rule_of(op) is not zero:
            self._step(op, duals, pairs, steps, b)

    def _step(
        self,
        op: Operation,
        duals: Sequence[SSAValue],
        pairs: dict[SSAValue, SSAValue],
        steps: SSAValue,
        b: GradientBuilder,
    ) -> None:
        """Add the cotangents of an op to the function that computes those of later ops."""
        rule = rule_of(op)
        assert rule is not None
        earlier = b.insert(ref.ReadOp(steps))
        step = graph.LambdaOp(Region(Block([graph.YieldOp([])])))
        b.rewriter.insert(step)
        last = step.body.block.last_op
        assert last is not None
        inner = b.before(last).within(set(op.operands))
        given = [
            inner.insert(ref.ReadOp(inner.get(pairs[result], 1))) if result in pairs else None
            for result in op.results
        ]
        found = rule(op, given[0] if len(given) == 1 else given, inner)
        for dual, cotangent in zip(duals, found, strict=True):
            if isinstance(cotangent, SSAValue) and _is_dual(dual):
                self._duals.seed(dual, cotangent, inner)
        inner.rewriter.insert(graph.CallOp(earlier, [], []))
        b.rewriter.insert(ref.WriteOp(steps, step.result))
        for each in step.walk():
            adopt_location(each, op.location)


def _between(first: Operation, last: Operation) -> list[Operation]:
    """The ops between two ops of a block."""
    found: list[Operation] = []
    op = first.next_op
    while op is not None and op is not last:
        found.append(op)
        op = op.next_op
    return found


def _is_dual(value: SSAValue) -> bool:
    return value.type.name == "tuple"


def _is_active(op: Operation) -> bool:
    """Whether an op has operands of floats, or of duals of these, and results of floats."""
    reads = any(is_float(value.type) or _is_dual(value) for value in op.operands)
    return reads and any(is_float(result.type) for result in op.results)
