"""`fuse-ops`: groups ops into kernels; every computing op ends up in exactly one `graph.fused`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.symbols import symbol_sources
from stepwell.dialects.graph_ir.annotations import BOUND_KERNEL
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.locations import adopt_location, fused_location
from stepwell.dialects.types import WeightAttr, tensor_of
from stepwell.passes.analysis.scopes import ops_in_effect_order
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count, remark
from stepwell.passes.graph.fusion.groups import fusion_groups
from stepwell.passes.graph.fusion.refusals import described_op, refusals
from stepwell.passes.graph.fusion.state_parts import read_states_in_place
from stepwell.patterns.groups import Duplicate, blocks_of
from stepwell.patterns.partitioning import TableRow, partition_table
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.log import logger

_log = logger(__name__)


@dataclass(frozen=True)
class FuseOpsPass(Pass):
    """
    Group computing ops into kernels (`graph.fused`), by kinds of ops and post-dominators.

    First, each match of a pattern table, and each `graph.composite`, becomes a kernel. Then a contraction is
    fused with the elementwise ops that follow it, up to its post-dominator; reductions of the same rows with
    each other and with the elementwise ops on these rows; elementwise and broadcasting ops with their users;
    movement with movement and elementwise ops. Every other op is a kernel by itself. Constants of one element
    are copied into the kernel, all other values that it reads become its operands. Constants, views, tuples,
    calls and control flow stay outside; regions are blocks of their own.

    The attribute `kind` of a kernel says how it was formed: `contraction`, `rows`, `elementwise`,
    `injective`, `single`, or `pattern`, with the pattern's name in `pattern`. An op with the attribute
    `graph.stop_fusion` is in no kernel with its consumers, but it can join a kernel of its producers: for an
    op by itself, give them the attribute too.

    Class: exact. Needs nothing; leaves no computing op outside a `graph.fused`.
    Source: Relay's FuseOps.
    """

    name = "fuse-ops"

    max_ops: int = 64
    """The most ops in a kernel."""
    table: str = ""
    """A file of patterns whose matches become kernels before others are formed."""
    only: str = ""
    """The name of a table of the file; if empty, all tables, or all patterns of a file without tables."""
    explain: bool = False
    """Whether remarks say of each value between two kernels why these are not one."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.max_ops < 1:
            raise StepwellError(
                "bad-option", None, f"a kernel holds at least one op, found max-ops={self.max_ops}"
            )
        rows = self._rows(ctx, op) if self.table else []
        for func in functions_of(op):
            if rows:
                partition_table(rows, func, None, Duplicate.NEVER, remark=remark)
            for block in list(blocks_of(func)):
                for inner in list(block.ops):
                    if isinstance(inner, graph.CompositeOp):
                        _claim(inner)
                self._fuse_block(block)
        if _log.on(1):
            _log_kernels(op)

    def _rows(self, ctx: Context, module: ModuleOp) -> list[TableRow]:
        """The patterns of the file. Raises: StepwellError of the file."""
        from stepwell.patterns.files import entries_of, load_patterns  # the parser of patterns

        entries = entries_of(load_patterns(self.table, module, ctx, remark), self.only)
        return [TableRow(entry.name, entry.pattern, entry.check) for entry in entries]

    def _fuse_block(self, block: Block) -> None:
        groups = fusion_groups(block, self.max_ops)
        for producer, reader, reason in refusals(groups, self.max_ops) if self.explain else ():
            remark(producer, f"not fused with {described_op(reader)}: {reason}")
        for group in groups:
            fused = fuse(group.ops)
            fused.attributes["kind"] = StringAttr(group.kind)
        read_states_in_place(block)
        count("kernels", len(groups))
        _sort(block)


def _log_kernels(module: ModuleOp) -> None:
    """Log the number of kernels of each kind, and each kernel."""
    kernels = [op for op in module.walk() if isinstance(op, graph.FusedOp)]
    kinds = [cast(StringAttr, kernel.attributes["kind"]).data for kernel in kernels]
    counted = ", ".join(f"{number} {kind}" for kind, number in Counter(kinds).most_common())
    _log(1, "{} kernels: {}", len(kernels), counted or "none")
    for kind, kernel in zip(kinds, kernels, strict=True):
        names = [op.name.removeprefix("graph.") for op in kernel.body.block.ops]
        _log(2, "{} kernel: {}", kind, ", ".join(names[:-1]), node=kernel)


def _claim(composite: graph.CompositeOp) -> None:
    """Replace a composite, the match of a pattern, by a kernel."""
    fused = graph.FusedOp(
        list(composite.operands), composite.result_types, composite.detach_region(composite.body)
    )
    fused.attributes["kind"] = StringAttr("pattern")
    for name in ("pattern", BOUND_KERNEL):
        if (value := composite.attributes.get(name)) is not None:
            fused.attributes[name] = value
    adopt_location(fused, composite.location)
    Rewriter.replace_op(composite, fused)


def fuse(ops: Sequence[GraphOp]) -> graph.FusedOp:
    """
    Move ops of one block, in order, into a new kernel at the position of the last one.

    The kernel's results are the results of the ops that have uses outside; if there are none, all results of
    the last op.
    """
    root = ops[-1]
    inside = set[Operation](ops)
    outer = dict.fromkeys(value for op in ops for value in op.operands if value.owner not in inside)
    embedded = [value.owner for value in outer if _is_scalar_constant(value)]
    operands = [value for value in outer if not _is_scalar_constant(value)]
    results = [
        result
        for op in ops
        for result in op.results
        if any(use.operation not in inside for use in result.uses)
    ] or list(root.results)

    block = Block(arg_types=[value.type for value in operands])
    replacements: dict[SSAValue, SSAValue] = dict(zip(operands, block.args, strict=True))
    for value, arg in replacements.items():
        arg.name_hint = value.name_hint
    for constant in cast("list[graph.ConstantOp]", embedded):
        block.add_op(copy := constant.clone())
        replacements[constant.result] = copy.result
    types = [result.type for result in results]
    fused = graph.FusedOp.create(operands=operands, result_types=types, regions=[Region(block)])
    IRBuilder(InsertPoint.before(root), fused_location(ops)).insert(fused)
    for result, fused_result in zip(results, fused.results, strict=True):
        fused_result.name_hint = result.name_hint
        result.replace_uses_with_if(fused_result, lambda use: use.operation not in inside)
    for op in ops:
        op.detach()
        block.add_op(op)
        for i, value in enumerate(op.operands):
            if value in replacements:
                op.operands[i] = replacements[value]
    block.add_op(graph.YieldOp.create(operands=results))
    return fused


def _is_scalar_constant(value: SSAValue) -> bool:
    if not isinstance(value.owner, graph.ConstantOp):
        return False
    constant = value.owner.value
    return not isinstance(constant, WeightAttr) and prod(tensor_of(value).get_shape()) == 1


def _sort(block: Block) -> None:
    """
    Restore the order of definitions before uses in a block, stably; effects stay in their order.

    A kernel is inserted at the position of its last op; a use of another of its outputs may come before that.
    """
    position = {op: i for i, op in enumerate(block.ops)}
    definers = symbol_sources(block)
    sources = {op: _sources(op, block).union(definers.get(op, ())) for op in position}
    for earlier, later in pairwise(ops_in_effect_order(block)):
        sources[later].add(earlier)
    if all(position[source] < position[op] for op, above in sources.items() for source in above):
        return
    waits = {op: len(above) for op, above in sources.items()}
    readers: dict[Operation, list[Operation]] = {}
    for op, above in sources.items():
        for source in above:
            readers.setdefault(source, []).append(op)
    in_order = list(position)
    ready = [position[op] for op, missing in waits.items() if not missing]
    heapify(ready)
    while ready:
        op = in_order[heappop(ready)]
        op.detach()
        block.add_op(op)
        for reader in readers.get(op, ()):
            waits[reader] -= 1
            if not waits[reader]:
                heappush(ready, position[reader])


def _sources(op: Operation, block: Block) -> set[Operation]:
    """The ops of the block whose results an op, or an op in its regions, reads."""
    values = (value for inner in op.walk() for value in inner.operands)
    return {v.owner for v in values if isinstance(v.owner, Operation) and v.owner.parent is block}
