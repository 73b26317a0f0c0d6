"""`partition-graph`: each region of a backend is outlined as a function and replaced by a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.annotations import BACKEND
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.types import dims_attr
from stepwell.passes.analysis.symbol_sources import SYMBOLS
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count
from stepwell.passes.graph.outlining import Outline
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
    outline = Outline.of(ops, lambda constant: bind_constants)
    about: list[dict[str, Attribute]] = [
        {"graph.name": StringAttr(f"input{i}")} for i in range(len(outline.inputs))
    ]
    if outline.missing:
        outline.inputs.append(IRBuilder.before(ops[0]).value(graph.ExtentsOp(outline.missing)))
        about.append({"graph.name": StringAttr("symbols"), SYMBOLS: dims_attr(outline.missing)})
    func = outline.function(name)
    for op in func.body.block.ops:
        op.attributes.pop(TARGET, None)
        op.attributes.pop(REGION, None)
    func.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(entry) for entry in about])
    func.properties["res_attrs"] = ArrayAttr(
        [DictionaryAttr({"graph.name": StringAttr(f"output{i}")}) for i in range(len(outline.results))]
    )
    func.attributes |= {BACKEND: StringAttr(backend), "skip_optimization": UnitAttr()}
    outline.replace_by(graph.ExternalOp(name, outline.inputs, [r.type for r in outline.results]))
    return func
