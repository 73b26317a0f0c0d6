"""`simplify-match`: nested patterns become matches on one constructor at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects import adt, graph
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.adt.exhaustive import shapes_of
from stepwell.dialects.adt.patterns import ANYTHING, BOUND, PatternAttr
from stepwell.dialects.locations import adopt_location
from stepwell.passes.analysis.rename_symbols import defined_names
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count
from stepwell.passes.graph.decision_trees import (
    Fail,
    Leaf,
    Path,
    Test,
    Tree,
    bound_paths,
    decision_tree,
    trees_inside,
)
from stepwell.passes.graph.matched_values import Parts, made_of, replace_match, take_case

MAX_NESTED = 32
"""The most matches inside each other; those further inside are in lambdas beside the first."""


@dataclass(frozen=True)
class SimplifyMatchPass(Pass):
    """
    Replace each match by matches whose cases are a constructor each, of names and `_`, or `_` at the end.

    ```mlir
    %r = adt.match %l : !adt.data<@List, i64> -> (i64) case Cons(%a: i64, Nil) {
      graph.yield %a : i64
    } case _ {
      graph.yield %z : i64
    }
    ```
    becomes
    ```mlir
    %r = adt.match %l : !adt.data<@List, i64> -> (i64) case Cons(%a: i64, %t: !adt.data<@List, i64>) {
      %s = adt.match %t : !adt.data<@List, i64> -> (i64) case Nil {
        graph.yield %a : i64
      } case _ {
        graph.yield %z : i64
      }
      graph.yield %s : i64
    } case _ {
      graph.yield %z : i64
    }
    ```
    No part of a value is tested twice. A case that several tests lead to becomes a lambda, which they call; a
    case of a single op is copied instead. Fields of tuples are read by `graph.get`. Parts whose constructor
    is known are not tested, and cases that no value reaches are erased. Class: exact. Fails for a match that
    needs more than 10,000 tests (`too-large`).
    Source: Maranget, "Compiling Pattern Matching to Good Decision Trees" (ML Workshop 2008).
    """

    name = "simplify-match"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in functions_of(op):
            for each in [inner for inner in function.walk() if isinstance(inner, adt.MatchOp)]:
                if each.parent is not None and not _is_simple(each):
                    _simplify(each)


def _is_simple(op: adt.MatchOp) -> bool:
    """Whether the cases are constructors of names and `_`, each once, or `_` after them."""
    patterns = op.patterns.data
    cases = patterns[:-1] if len(patterns) > 1 and patterns[-1].kind == ANYTHING else patterns
    return (
        made_of(op.value) is None
        and len({pattern.kind for pattern in cases}) == len(cases)
        and all(pattern.is_constructor and all(part.fits_all for part in pattern.parts) for pattern in cases)
    )


def _simplify(op: adt.MatchOp) -> None:
    parts = Parts({(): op.value})
    tree = decision_tree(op, parts.head)
    count("matches simplified")
    writer, block = _Writer(op, tree), Block()
    values = writer.written(tree, parts, block)
    if (first := block.first_op) is None:
        block.add_ops(writer.lambdas)
    else:
        block.insert_ops_before(writer.lambdas, first)
    replace_match(op, block, values)


class _Writer:
    """The matches of a decision tree, and the lambdas that they call."""

    def __init__(self, op: adt.MatchOp, tree: Tree):
        self._op = op
        self.lambdas: list[Operation] = []
        """Lambdas that stand before the first match, callees first."""
        self._leaves = Counter(each.case for each in trees_inside(tree) if isinstance(each, Leaf))
        self._is_short = [_is_short(case) for case in op.cases]
        self._shared: dict[int, SSAValue] = {}
        self._bound = [bound_paths(pattern) for pattern in op.patterns]
        self._types = {
            path: argument.type
            for paths, case in zip(self._bound, op.cases, strict=True)
            for path, argument in zip(paths, case.block.args, strict=True)
        }
        """The types of the parts that cases bind."""
        self._uses: dict[int, set[Path]] = {}

    def written(self, tree: Tree, parts: Parts, block: Block, depth: int = 0) -> Sequence[SSAValue]:
        """Append the ops of a tree to a block; returns the results."""
        match tree:
            case Leaf(case) if self._leaves[case] == 1:
                return self._taken(self._op.cases[case], case, parts, block)
            case Leaf(case) if self._is_short[case]:
                return self._taken(self._op.cases[case].clone(), case, parts, block)
            case Leaf(case):
                return self._called(case, parts, block)
            case Fail():
                return self._add(
                    adt.MatchOp(self._op.value, (), (), self._op.result_types, partial=True), block
                )
            case Test() if depth < MAX_NESTED:
                return self._match(tree, parts, block, depth)
            case Test():
                return self._continued(tree, parts, block)

    def _add(self, op: Operation, block: Block) -> Sequence[SSAValue]:
        adopt_location(op, self._op.location)
        block.add_op(op)
        return op.results

    def _taken(self, body: Region, case: int, parts: Parts, block: Block) -> Sequence[SSAValue]:
        return take_case(body, self._bound[case], parts, block, self._op)

    def _called(self, case: int, parts: Parts, block: Block) -> Sequence[SSAValue]:
        """A call of the lambda of a case."""
        arguments = [parts.value(path, block, self._op) for path in self._bound[case]]
        if case not in self._shared:
            body = self._op.cases[case]
            moved = Region()
            body.move_blocks(moved)
            for argument, value in zip(moved.block.args, arguments, strict=True):
                set_type(argument, value.type)
            self._shared[case] = self._lambda(moved)
        return self._add(graph.CallOp(self._shared[case], arguments, self._op.result_types), block)

    def _lambda(self, body: Region) -> SSAValue:
        made = graph.LambdaOp(body)
        adopt_location(made, self._op.location)
        self.lambdas.append(made)
        return made.result

    def _match(self, test: Test, parts: Parts, block: Block, depth: int) -> Sequence[SSAValue]:
        """A match on the tag of a part."""
        value = parts.value(test.path, block, self._op)
        patterns: list[PatternAttr] = []
        regions: list[Region] = []
        is_partial = False
        for head, tree in [*test.branches, *([(ANYTHING, test.others)] if test.others is not None else [])]:
            if isinstance(tree, Fail):
                is_partial = True
                continue
            pattern, region = self._case(test.path, value.type, head, tree, parts, depth)
            patterns.append(pattern)
            regions.append(region)
        made = adt.MatchOp(value, patterns, regions, self._op.result_types, partial=is_partial)
        return self._add(made, block)

    def _case(
        self, path: Path, type: Attribute, head: str, tree: Tree, parts: Parts, depth: int
    ) -> tuple[PatternAttr, Region]:
        """A case of a match; the fields are bound that its tree reads."""
        fields = () if head == ANYTHING else dict(shapes_of(type, self._op))[head]
        used = self._used(tree)
        read = [(head, n) for n in range(len(fields)) if (*path, (head, n)) in used]
        block = Block(arg_types=[self._types.get((*path, field), fields[field[1]]) for field in read])
        inside = parts.with_fields(path, dict(zip(read, block.args, strict=True)))
        values = self.written(tree, inside, block, depth + 1)
        self._add(graph.YieldOp(values), block)
        kinds = [BOUND if (head, n) in read else ANYTHING for n in range(len(fields))]
        return PatternAttr.of(head, [PatternAttr.of(kind) for kind in kinds]), Region(block)

    def _continued(self, tree: Test, parts: Parts, block: Block) -> Sequence[SSAValue]:
        """A call of a lambda with the matches of a tree, which so do not nest."""
        used = self._used(tree)
        given = {path: value for path, value in parts.values.items() if path and path in used}
        body = Block(arg_types=[value.type for value in given.values()])
        inside = Parts({(): self._op.value, **dict(zip(given, body.args, strict=True))})
        self._add(graph.YieldOp(self.written(tree, inside, body)), body)
        call = graph.CallOp(self._lambda(Region(body)), list(given.values()), self._op.result_types)
        return self._add(call, block)

    def _used(self, tree: Tree) -> set[Path]:
        """The parts that a tree tests or binds, and those around them."""
        if (known := self._uses.get(id(tree))) is None:
            match tree:
                case Leaf(case):
                    paths = self._bound[case]
                case Test(path):
                    paths = [path]
                case Fail():
                    paths = []
            known = {path[:length] for path in paths for length in range(1, len(path) + 1)}
            for each in tree.below if isinstance(tree, Test) else ():
                known |= self._used(each)
            self._uses[id(tree)] = known
        return known


def _is_short(body: Region) -> bool:
    """Whether a case is one op at most, as a call of it would be."""
    ops = list(body.block.ops)
    return len(ops) <= 2 and not any(op.regions for op in ops) and not defined_names(body)
