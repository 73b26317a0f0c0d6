"""`partition-graph`: each region of a backend is outlined as a function and replaced by a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.annotations import BACKEND
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import adopt_location, fused_location
from stepwell.dialects.types import dims_attr
from stepwell.passes.analysis.symbol_sources import SYMBOLS, symbols_needed, symbols_of_type
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count
from stepwell.passes.graph.partition.annotate_target import TARGET
from stepwell.passes.graph.partition.merge_regions import REGION, regions_of
from stepwell.patterns.groups import blocks_of


@dataclass(frozen=True)
class PartitionGraphPass(Pass):
    """
    Outline each region (`merge-regions`; without a number each op with a target) as a function, and call it.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = graph.relu %x {graph.target = "acme"} : tensor<4xf32> -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }
    // ->
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = graph.external @acme_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }
    func.func private @acme_0(%x: tensor<4xf32> {graph.name = "input0"})
        -> (tensor<4xf32> {graph.name = "output0"}) attributes {graph.backend = "acme", skip_optimization} {
      %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }
    ```
    The function is named after the backend, with a number in program order. Its arguments are the values that
    the region reads, in program order, then the sizes of symbols that follow from no argument's shape; its
    results are the values with uses outside. The block is reordered so that the ops of a region are adjacent;
    ops with effects keep their order. Other passes leave the function alone (`skip_optimization`).

    Fails when regions depend on each other. Class: exact. Source: Relay's PartitionGraph.
    """

    name = "partition-graph"

    bind_constants: bool = False
    """Whether constants are copied into the function, instead of becoming arguments."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = _Names(op)
        for func in functions_of(op):
            for block in blocks_of(func):
                if any(TARGET in inner.attributes for inner in block.ops):
                    for partition in _partition(block, names, self.bind_constants):
                        op.body.block.add_op(partition)
                        count("partitions")


class _Names:
    """A generator of function names for partitions that no function of the module has."""

    def __init__(self, module: ModuleOp):
        self._taken = {f.sym_name.data for f in module.walk() if isinstance(f, FuncOp)}
        self._numbers: Counter[str] = Counter()

    def fresh(self, backend: str) -> str:
        """The next unused name `BACKEND_NUMBER`."""
        while (name := f"{backend}_{self._numbers[backend]}") in self._taken:
            self._numbers[backend] += 1
        self._taken.add(name)
        return name


def _partition(block: Block, names: _Names, bind_constants: bool) -> list[FuncOp]:
    units = regions_of(block)
    members = units.members()
    last = block.last_op
    assert last is not None
    made: list[FuncOp] = []
    ordered = [members[unit] for unit in units.order()]
    for ops in ordered:  # each after its operands
        for op in ops:
            op.detach()
        block.insert_ops_before(ops, last)
    for ops in ordered:
        target = ops[0].attributes.get(TARGET)
        if isinstance(target, StringAttr):
            made.append(_outline(ops, target.data, names.fresh(target.data), bind_constants))
    return made


def _outline(ops: Sequence[Operation], backend: str, name: str, bind_constants: bool) -> FuncOp:
    """Outline a region's ops as a function and replace them by a call; returns the function."""
    # Operands: values from outside, constants only if they are not bound, sizes that no shape contains.
    inside = set(ops)
    read = dict.fromkeys(value for op in ops for value in _read_by(op) if _comes_from_outside(value, inside))
    constants = [v for v in read if bind_constants and isinstance(v.owner, graph.ConstantOp)]
    inputs = [value for value in read if value not in constants]
    known = {symbol for value in inputs for symbol in symbols_of_type(value.type)}
    missing = [symbol for symbol in dict.fromkeys(symbols_needed(ops)) if symbol not in known]
    about: list[dict[str, Attribute]] = [{"graph.name": StringAttr(f"input{i}")} for i in range(len(inputs))]
    if missing:
        inputs.append(IRBuilder.before(ops[0]).value(graph.ExtentsOp(missing)))
        about.append({"graph.name": StringAttr("symbols"), SYMBOLS: dims_attr(missing)})
    results = [result for op in ops for result in op.results if _is_read_outside(result, inside)]

    # The function: copies of the ops, with names of its arguments and results.
    func = FuncOp(name, ([v.type for v in inputs], [r.type for r in results]), visibility="private")
    block = func.body.block
    copies: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for value, arg in copies.items():
        arg.name_hint = value.name_hint
    for op in (*(value.owner for value in constants), *ops):
        assert isinstance(op, Operation)
        copy = op.clone(copies)
        copy.attributes.pop(TARGET, None)
        copy.attributes.pop(REGION, None)
        block.add_op(copy)
    block.add_op(ReturnOp(*(copies[result] for result in results)))
    func.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(entry) for entry in about])
    func.properties["res_attrs"] = ArrayAttr(
        [DictionaryAttr({"graph.name": StringAttr(f"output{i}")}) for i in range(len(results))]
    )
    func.attributes |= {BACKEND: StringAttr(backend), "skip_optimization": UnitAttr()}
    _replace(ops, graph.ExternalOp(name, inputs, [r.type for r in results]), results)
    adopt_location(func, fused_location(ops))
    return func


def _replace(ops: Sequence[Operation], call: graph.ExternalOp, results: Sequence[SSAValue]) -> None:
    IRBuilder(InsertPoint.before(ops[0]), fused_location(ops)).insert(call)
    for result, new in zip(results, call.results, strict=True):
        new.name_hint = result.name_hint
        result.replace_all_uses_with(new)
    for op in reversed(ops):
        op.detach()
        op.erase()


def _read_by(op: Operation) -> Iterator[SSAValue]:
    for inner in op.walk():
        yield from inner.operands


def _comes_from_outside(value: SSAValue, inside: set[Operation]) -> bool:
    owner = value.owner
    op = owner.parent_op() if isinstance(owner, Block) else owner
    while op is not None and op not in inside:
        op = op.parent_op()
    return op is None


def _is_read_outside(value: SSAValue, inside: set[Operation]) -> bool:
    for use in value.uses:
        op: Operation | None = use.operation
        while op is not None and op not in inside:
            op = op.parent_op()
        if op is None:
            return True
    return False
