"""The parts of a matched value as SSA values, and matches whose case is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import adt, graph
from stepwell.dialects.adt.patterns import TUPLE
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.locations import adopt_location
from stepwell.passes.graph.decision_trees import Leaf, Path, bound_paths, decision_tree


def made_of(value: SSAValue) -> tuple[str, Sequence[SSAValue]] | None:
    """The constructor (`()` of a tuple) and the fields of a value whose making is in sight."""
    if isinstance(made := value.owner, adt.MakeOp):
        return made.name_of_constructor, made.inputs
    return (TUPLE, made.fields) if isinstance(made, graph.TupleOp) else None


@dataclass
class Parts:
    """The SSA values of the parts of a matched value, as far as they are known at a point of a block."""

    values: dict[Path, SSAValue]

    def head(self, path: Path) -> str | None:
        """The constructor of a part, where its making is in sight."""
        if (value := self._visible(path)) is None or (made := made_of(value)) is None:
            return None
        return made[0]

    def _visible(self, path: Path) -> SSAValue | None:
        """The value of a part, without new ops; None where it takes some."""
        if path in self.values:
            return self.values[path]
        if not path or (outer := self._visible(path[:-1])) is None or (made := made_of(outer)) is None:
            return None
        return made[1][path[-1][1]]

    def value(self, path: Path, block: Block, at: Operation) -> SSAValue:
        """The value of a part; fields of tuples are read at the end of a block, at the location of an op."""
        if (value := self._visible(path)) is not None:
            return value
        get = graph.GetOp(self.value(path[:-1], block, at), path[-1][1])
        adopt_location(get, at.location)
        block.add_op(get)
        self.values[path] = get.result
        return get.result

    def with_fields(self, path: Path, fields: Mapping[tuple[str, int], SSAValue]) -> Parts:
        """The parts within a case that binds fields of a part."""
        return Parts({**self.values, **{(*path, field): value for field, value in fields.items()}})


def take_case(
    body: Region, paths: Sequence[Path], parts: Parts, block: Block, at: Operation
) -> Sequence[SSAValue]:
    """
    Move the ops of a case, whose arguments are parts of the value, to the end of a block.

    Returns: what the case yields.
    """
    for argument, path in zip(body.block.args, paths, strict=True):
        value = parts.value(path, block, at)
        value.name_hint = value.name_hint or argument.name_hint
        argument.replace_all_uses_with(value)
    last = yield_of(body)
    values = list(last.operands)
    Rewriter.erase_op(last)
    for each in list(body.block.ops):
        each.detach()
        block.add_op(each)
    return values


def replace_match(op: adt.MatchOp, block: Block, values: Sequence[SSAValue]) -> None:
    """Replace a match by the ops of a block, and its results by values."""
    Rewriter.inline_block(block, InsertPoint.before(op))
    for result, value in zip(op.results, values, strict=True):
        value.name_hint = value.name_hint or result.name_hint
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def fold_match(op: adt.MatchOp) -> Sequence[Operation]:
    """
    Replace a match on a value whose making is in sight by the case that fits, if that is known.

    ```mlir
    %n = adt.make @List::@Nil() : () -> !adt.data<@List, tensor<4xf32>>
    %l = adt.make @List::@Cons(%x, %n) : (tensor<4xf32>, !adt.data<@List, tensor<4xf32>>) -> !adt.data<@List, tensor<4xf32>>
    %y = adt.match %l : !adt.data<@List, tensor<4xf32>> -> (tensor<4xf32>) case Cons(%a: tensor<4xf32>, _) {
      %e = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
      graph.yield %e : tensor<4xf32>
    } case Nil {
      graph.yield %x : tensor<4xf32>
    }
    // ->
    %y = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Returns: the ops that are erased; none if the match stays.
    """  # noqa: E501
    if made_of(op.value) is None:
        return []
    parts = Parts({(): op.value})
    tree = decision_tree(op, parts.head)
    if not isinstance(tree, Leaf):
        return []
    taken, paths, block = op.cases[tree.case], bound_paths(op.patterns.data[tree.case]), Block()
    others = [inner for case in op.cases if case is not taken for inner in case.walk()]
    gone = [op, yield_of(taken), *others]
    replace_match(op, block, take_case(taken, paths, parts, block, op))
    return gone
