"""1:N conversion: each value of some types becomes several values, its pieces, in one walk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Generic, TypeVar, cast

from xdsl.builder import InsertOpInvT
from xdsl.dialects import scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects._xdsl import move_rewriter
from stepwell.dialects.ir_builder import Constants, IRBuilder
from stepwell.patterns.driver.carry_out import carry_out
from stepwell.patterns.driver.pattern_set import PatternSet
from stepwell.runtime.errors import StepwellError

PiecesT = TypeVar("PiecesT")


class OneToMany(ABC, Generic[PiecesT]):
    """
    A 1:N conversion of a function: the map from old values to their pieces, which its patterns share.

    Ops are visited once, in order, so an op's operands have been converted before it. A pattern asks for the
    `pieces` of operands, inserts new ops by `builder`, and ends with `replace` or `put_off`. The conversion
    decides the type of pieces: a list of values, or an object that makes a value at its first use (`values`).
    Old ops stay until the end of the walk, so that patterns can look at the op of an old operand, and a value
    without a replacement can be used unchanged.

    *Blocks.* `split_arguments` replaces block arguments by those for their pieces; `SplitFor`, `SplitIf` and
    `SplitYield` do that for `scf.for` and `scf.if`, their results, and the values that a loop carries.

    *An op put off.* Some ops can only be converted by the pattern of their one user, such as the write of a
    tile whose offset is known at the insertion of the tile. `put_off` such an op; the user's pattern finds it
    by `op_put_off`.
    """

    def __init__(
        self, func: FuncOp, symbols: Mapping[str, SSAValue] | None = None, *, hoist_constants: bool = True
    ):
        """`symbols` are the builder's; constants are made at the function's start, or at their first use."""
        self.function = func
        constants = Constants(func) if hoist_constants else None
        start = InsertPoint.at_start(func.body.block)
        self._builders = [_Builder(start, func.location, constants=constants, symbols=symbols)]
        self._patterns = PatternSet(())
        self._pieces: dict[SSAValue, PiecesT] = {}
        self._replaced: list[Operation] = []
        self._put_off: dict[SSAValue, Operation] = {}
        self._arguments: list[tuple[Block, BlockArgument]] = []

    @abstractmethod
    def is_split(self, type: Attribute) -> bool:
        """Whether values of a type are split."""

    @abstractmethod
    def types(self, value: SSAValue) -> Sequence[Attribute]:
        """The types of the pieces of a value that is split."""

    @abstractmethod
    def gathered(self, value: SSAValue, values: Sequence[SSAValue]) -> PiecesT:
        """The pieces of a value from one value for each of its `types`."""

    @abstractmethod
    def values(self, pieces: PiecesT) -> Sequence[SSAValue]:
        """The values of the pieces, made by `builder` where there is none yet."""

    def whole(self, value: SSAValue) -> PiecesT:
        """The pieces of a value that no pattern has replaced: itself. Raises: StepwellError `unsupported`."""
        types = self.types(value) if self.is_split(value.type) else ()
        if len(types) != 1 or types[0] != value.type:
            owner = value.owner if isinstance(value.owner, Operation) else None
            raise StepwellError("unsupported", owner, f"no pattern splits a value of type {value.type}")
        return self.gathered(value, [value])

    def convert(self, patterns: Sequence[RewritePattern]) -> None:
        """
        Convert the body of the function.

        Raises: StepwellError `unsupported` for an op that is put off, and not replaced by its user; of
        patterns.
        """
        self._patterns = PatternSet(patterns)
        self._visit_block(self.function.body.block)
        if op := next(iter(self._put_off.values()), None):
            raise StepwellError("unsupported", op, f"{op.name} was put off, but no user has replaced it")
        for op in reversed(self._replaced):
            op.detach()
            op.erase(safe_erase=_is_used(op))
        for owner, argument in self._arguments:
            owner.erase_arg(argument)

    def convert_block(self, block: Block, begin: Callable[[], object] | None = None) -> None:
        """
        Convert a block of the op that is rewritten, by a builder inside of the current one.

        `begin` may insert ops for the op itself at the start of the block.
        """
        outer = self._builders[-1]
        inner = outer.inside(block)
        self._builders.append(inner)
        if begin is not None:
            inner.rewriter = outer.rewriter
            inner.insertion_point = InsertPoint.at_start(block)
            begin()
        self._visit_block(block)
        self._builders.pop()

    @property
    def builder(self) -> IRBuilder:
        """The builder before the op that is rewritten, with its location."""
        return self._builders[-1]

    def _visit_block(self, block: Block) -> None:
        builder, rewriter = self._builders[-1], None
        for op in list(block.ops):
            if op.parent is block and (patterns := self._patterns.of(type(op))):
                builder.move_before(op)
                if rewriter is None:  # blocks inside have their own
                    builder.rewriter = rewriter = PatternRewriter(op)
                else:
                    move_rewriter(rewriter, op)
                carry_out(patterns, op, rewriter, located=True)

    def has_pieces(self, value: SSAValue) -> bool:
        """Whether pieces are known for a value."""
        return value in self._pieces

    def pieces(self, value: SSAValue) -> PiecesT:
        """The pieces of a value; a value without a replacement is its own only piece."""
        if (found := self._pieces.get(value)) is None:
            found = self._pieces[value] = self.whole(value)
        return found

    def expanded(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Values, with each that is split replaced by its pieces."""
        found: list[SSAValue] = []
        for value in values:
            found += self.values(self.pieces(value)) if self.is_split(value.type) else [value]
        return found

    def replace(self, op: Operation, *results: PiecesT | SSAValue) -> None:
        """Replace an op: each result by its pieces, or by a value. It is erased at the end of the walk."""
        for old, new in zip(op.results, results, strict=True):
            if isinstance(new, SSAValue):
                old.replace_all_uses_with(cast("SSAValue[Attribute]", new))
            else:
                self._pieces[old] = new
        self._erase_later(op)

    def put_off(self, op: Operation) -> None:
        """Leave an op to the pattern of its only user, for replacement and erasure."""
        self._put_off[op.results[0]] = op
        self._erase_later(op)

    def op_put_off(self, value: SSAValue) -> Operation | None:
        """The op put off until this user of a value, who now replaces it; None for other values."""
        return self._put_off.pop(value, None)

    def split_arguments(self, block: Block) -> None:
        """Replace the block arguments that are split by arguments for their pieces."""
        for old in list(block.args):
            if self.is_split(old.type):
                new = [block.insert_arg(type, old.index + i) for i, type in enumerate(self.types(old))]
                self._pieces[old] = self.gathered(old, new)
                self._arguments.append((block, old))

    def collected(
        self, old: Sequence[SSAValue], new: Iterable[SSAValue], counts: Iterable[int]
    ) -> list[PiecesT | SSAValue]:
        """The values `new` as the values, or pieces, of the `old` ones, of which each has one or a count."""
        rest = iter(new)
        found: list[PiecesT | SSAValue] = []
        for value, count in zip(old, counts, strict=True):
            values = list(islice(rest, count))
            found.append(self.gathered(value, values) if self.is_split(value.type) else values[0])
        return found

    def _erase_later(self, op: Operation) -> None:
        self._replaced.append(op)
        if (rewriter := self._builders[-1].rewriter) is not None:
            rewriter.has_done_action = True


def _is_used(op: Operation) -> bool:
    """Whether an op in a block uses a result: one that a pattern made and dropped does not count."""
    used = [result for result in op.results if result.first_use is not None]
    return any(use.operation.parent is not None for result in used for use in result.uses)


class _Builder(IRBuilder):
    """A builder whose insertions the rewriter of the visited op reports, for listeners."""

    rewriter: PatternRewriter | None = None

    def insert(self, op: InsertOpInvT, insertion_point: InsertPoint | None = None) -> InsertOpInvT:
        super().insert(op, insertion_point)
        if self.rewriter is not None:
            self.rewriter.has_done_action = True
            for new in (op,) if isinstance(op, Operation) else op:
                self.rewriter.handle_operation_insertion(new)
        return op


class SplitFor(RewritePattern, Generic[PiecesT]):
    """
    A loop that carries the pieces of each value as values of their own; on pairs, for example:

        %r = scf.for %i = %a to %b step %s iter_args(%x = %p) -> (!pair) { … scf.yield %q : !pair }
        // ->
        %r:2 = scf.for %i = %a to %b step %s iter_args(%x0 = %p0, %x1 = %p1) -> (f32, f32) { … }
    """

    def __init__(self, split: OneToMany[PiecesT]):
        self.split = split

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.ForOp, rewriter: PatternRewriter) -> None:
        split, block = self.split, op.body.block
        parts = [split.expanded([value]) for value in op.iter_args]
        carried = [value for values in parts for value in values]
        split.split_arguments(block)
        split.convert_block(block)
        # The loop around the same region; its results are the pieces of the old ones.
        loop = scf.ForOp.create(
            operands=[op.lb, op.ub, op.step, *carried],
            result_types=[value.type for value in carried],
            attributes=op.attributes,
            regions=[op.detach_region(0)],
        )
        split.builder.insert(loop)
        split.replace(op, *split.collected(op.results, loop.results, map(len, parts)))


class SplitIf(RewritePattern, Generic[PiecesT]):
    """
    A branch that gives the pieces of each value as results of their own; on pairs, for example:

        %r = scf.if %c -> (!pair) { … scf.yield %p : !pair } else { … scf.yield %q : !pair }
        // ->
        %r:2 = scf.if %c -> (f32, f32) { … scf.yield %p0, %p1 : f32, f32 } else { … }
    """

    def __init__(self, split: OneToMany[PiecesT]):
        self.split = split

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.IfOp, rewriter: PatternRewriter) -> None:
        split = self.split
        for region in op.regions:
            if region.blocks:
                split.convert_block(region.block)
        parts = [
            split.types(result) if split.is_split(result.type) else [result.type] for result in op.results
        ]
        branch = scf.IfOp.create(
            operands=[op.cond],
            result_types=[type for types in parts for type in types],
            attributes=op.attributes,
            regions=[op.detach_region(0), op.detach_region(0)],
        )
        split.builder.insert(branch)
        split.replace(op, *split.collected(op.results, branch.results, map(len, parts)))


class SplitYield(RewritePattern, Generic[PiecesT]):
    """
    The end of the body of a loop or branch with the pieces of each value; on pairs, for example:

        scf.yield %q : !pair
        // ->
        scf.yield %q0, %q1 : f32, f32
    """

    def __init__(self, split: OneToMany[PiecesT]):
        self.split = split

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: scf.YieldOp, rewriter: PatternRewriter) -> None:
        self.split.builder.insert(scf.YieldOp.create(operands=self.split.expanded(op.arguments)))
        rewriter.erase(op)
