"""1:N conversion on a dialect of pairs, each of which becomes two numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    Float32Type,
    FloatAttr,
    IndexType,
    ModuleOp,
    NameLoc,
    StringAttr,
    UnknownLoc,
    f32,
)
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition, operand_def, result_def
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects.verify import verify_module
from stepwell.patterns.driver.carry_out import RewriteListener, listening
from stepwell.patterns.driver.one_to_many import OneToMany, SplitFor, SplitIf, SplitYield
from stepwell.runtime.errors import StepwellError


@irdl_attr_definition
class PairType(ParametrizedAttribute, TypeAttribute):
    name = "pair.pair"


PAIR = PairType()


@irdl_op_definition
class MakeOp(IRDLOperation):
    """A pair of two numbers."""

    name = "pair.make"
    first = operand_def(Float32Type)
    second = operand_def(Float32Type)
    pair = result_def(PairType)


@irdl_op_definition
class OnesOp(IRDLOperation):
    """A pair of ones, which are constants where they are used."""

    name = "pair.ones"
    pair = result_def(PairType)


@irdl_op_definition
class AddOp(IRDLOperation):
    """The sum of two pairs, number by number."""

    name = "pair.add"
    lhs = operand_def(PairType)
    rhs = operand_def(PairType)
    pair = result_def(PairType)


@irdl_op_definition
class SecondOp(IRDLOperation):
    """The second number of a pair."""

    name = "pair.second"
    pair = operand_def(PairType)
    number = result_def(Float32Type)


@irdl_op_definition
class BoxOp(IRDLOperation):
    """A box with a pair, which only its opening converts."""

    name = "pair.box"
    pair = operand_def(PairType)
    box = result_def(IndexType)


@irdl_op_definition
class OpenOp(IRDLOperation):
    """The pair in a box."""

    name = "pair.open"
    box = operand_def(IndexType)
    pair = result_def(PairType)


class Piece:
    """One number of a pair: a value, or what makes it where it is first asked for."""

    def __init__(self, value: SSAValue | None, make: Callable[[], SSAValue] | None = None):
        self.value, self.make = value, make


Pair = tuple[Piece, Piece]


class Pairs(OneToMany[Pair]):
    """The numbers of each pair."""

    def is_split(self, type: Attribute) -> bool:
        return type == PAIR

    def types(self, value: SSAValue) -> Sequence[Attribute]:
        return [f32, f32]

    def gathered(self, value: SSAValue, values: Sequence[SSAValue]) -> Pair:
        return Piece(values[0]), Piece(values[1])

    def values(self, pieces: Pair) -> Sequence[SSAValue]:
        return [self.number(pieces, 0), self.number(pieces, 1)]

    def number(self, pieces: Pair, which: int) -> SSAValue:
        piece = pieces[which]
        if piece.value is None:
            assert piece.make is not None
            piece.value = piece.make()
        return piece.value


class PairPattern(RewritePattern):
    def __init__(self, pairs: Pairs):
        self.pairs = pairs


class SplitMake(PairPattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MakeOp, rewriter: PatternRewriter) -> None:
        self.pairs.replace(op, (Piece(op.first), Piece(op.second)))


class SplitOnes(PairPattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: OnesOp, rewriter: PatternRewriter) -> None:
        def one() -> SSAValue:
            made = arith.ConstantOp(FloatAttr(1.0, f32))
            return self.pairs.builder.value(made)

        self.pairs.replace(op, (Piece(None, one), Piece(None, one)))


class SplitAdd(PairPattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter) -> None:
        lhs, rhs = (self.pairs.values(self.pairs.pieces(value)) for value in (op.lhs, op.rhs))
        sums = [self.pairs.builder.value(arith.AddfOp(a, b)) for a, b in zip(lhs, rhs, strict=True)]
        self.pairs.replace(op, (Piece(sums[0]), Piece(sums[1])))


class SplitSecond(PairPattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SecondOp, rewriter: PatternRewriter) -> None:
        self.pairs.replace(op, self.pairs.number(self.pairs.pieces(op.pair), 1))


class PutOffBox(PairPattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BoxOp, rewriter: PatternRewriter) -> None:
        self.pairs.put_off(op)


class OpenBox(PairPattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: OpenOp, rewriter: PatternRewriter) -> None:
        box = self.pairs.op_put_off(op.box)
        assert isinstance(box, BoxOp)
        self.pairs.replace(op, self.pairs.pieces(box.pair))


ALL = (SplitMake, SplitOnes, SplitAdd, SplitSecond, PutOffBox, OpenBox)


def program(body: Callable[[Sequence[SSAValue]], Sequence[Operation]]) -> ModuleOp:
    """A function of two numbers and an index; the last op's result is returned."""
    main = func.FuncOp("main", ([f32, f32, IndexType()], [f32]))
    ops = body(main.body.block.args)
    main.body.block.add_ops([*ops, func.ReturnOp(ops[-1].results[0])])
    return ModuleOp([main])


def make(a: SSAValue, b: SSAValue) -> MakeOp:
    return MakeOp.build(operands=[a, b], result_types=[PAIR])


def add(a: SSAValue, b: SSAValue) -> AddOp:
    return AddOp.build(operands=[a, b], result_types=[PAIR])


def second(pair: SSAValue) -> SecondOp:
    return SecondOp.build(operands=[pair], result_types=[f32])


def split(module: ModuleOp, patterns: Sequence[type[PairPattern]] = ALL) -> list[str]:
    """The names of the ops of a program without pairs."""
    (main,) = module.ops
    assert isinstance(main, func.FuncOp)
    pairs = Pairs(main)
    structure = [SplitFor(pairs), SplitIf(pairs), SplitYield(pairs)]
    pairs.convert([*(pattern(pairs) for pattern in patterns), *structure])
    verify_module(module)
    return [op.name for op in main.body.walk()]


def test_values_become_several() -> None:
    def body(args: Sequence[SSAValue]) -> Sequence[Operation]:
        pair = make(args[0], args[1])
        total = add(pair.pair, pair.pair)
        total.location = NameLoc(StringAttr("node"), UnknownLoc())  # pyright: ignore[reportAttributeAccessIssue]
        return [pair, total, second(total.pair)]

    module = program(body)
    assert split(module) == ["arith.addf", "arith.addf", "func.return"]
    sums = [op for op in module.walk() if isinstance(op, arith.AddfOp)]
    assert [op.lhs.index for op in sums] == [0, 1]  # pyright: ignore[reportAttributeAccessIssue]
    assert all("node" in str(op.location) for op in sums)
    (end,) = (op for op in module.walk() if isinstance(op, func.ReturnOp))
    assert end.operands[0].owner is sums[1]


def test_pieces_are_made_when_asked_for() -> None:
    """Of four ones one is used."""

    def body(args: Sequence[SSAValue]) -> Sequence[Operation]:
        unused, used = (OnesOp.build(result_types=[PAIR]) for _ in range(2))
        return [unused, used, second(used.pair)]

    assert split(program(body)) == ["arith.constant", "func.return"]


def loop_of(args: Sequence[SSAValue]) -> Sequence[Operation]:
    """A loop that carries a pair and an index, and adds to both."""
    start, block = make(args[0], args[1]), Block(arg_types=[IndexType(), PAIR, IndexType()])
    total, count = add(block.args[1], start.pair), arith.AddiOp(block.args[2], args[2])
    block.add_ops([total, count, scf.YieldOp(total.pair, count)])
    loop = scf.ForOp(args[2], args[2], args[2], [start.pair, args[2]], Region(block))
    return [start, loop, second(loop.results[0])]


def test_a_loop_carries_the_pieces() -> None:
    module = program(loop_of)
    names = split(module)
    assert names == ["scf.for", "arith.addf", "arith.addf", "arith.addi", "scf.yield", "func.return"]
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    types = [f32, f32, IndexType()]
    assert list(loop.result_types) == types and [arg.type for arg in loop.body.block.args[1:]] == types
    (end,) = (op for op in module.walk() if isinstance(op, func.ReturnOp))
    assert end.operands[0] is loop.results[1]


def test_branches_give_the_pieces() -> None:
    def body(args: Sequence[SSAValue]) -> Sequence[Operation]:
        start, condition = make(args[0], args[1]), arith.CmpiOp(args[2], args[2], "eq")
        total = add(start.pair, start.pair)
        then = Region(Block([total, scf.YieldOp(total.pair, args[2])]))
        otherwise = Region(Block([scf.YieldOp(start.pair, args[2])]))
        branch = scf.IfOp(condition, [PAIR, IndexType()], then, otherwise)
        return [start, condition, branch, second(branch.results[0])]

    module = program(body)
    names = ["arith.cmpi", "scf.if", "arith.addf", "arith.addf", "scf.yield", "scf.yield", "func.return"]
    assert split(module) == names
    (branch,) = (op for op in module.walk() if isinstance(op, scf.IfOp))
    assert list(branch.result_types) == [f32, f32, IndexType()]
    (end,) = (op for op in module.walk() if isinstance(op, func.ReturnOp))
    assert end.operands[0] is branch.results[1]


def boxed(args: Sequence[SSAValue]) -> Sequence[Operation]:
    pair = make(args[0], args[1])
    box = BoxOp.build(operands=[pair.pair], result_types=[IndexType()])
    opened = OpenOp.build(operands=[box.box], result_types=[PAIR])
    return [pair, box, opened, second(opened.pair)]


def test_an_op_is_put_off_until_its_user() -> None:
    assert split(program(boxed)) == ["func.return"]


def test_an_op_that_its_user_does_not_replace() -> None:
    def body(args: Sequence[SSAValue]) -> Sequence[Operation]:
        pair, box, _, _ = boxed(args)
        return [pair, box, arith.ConstantOp(FloatAttr(1.0, f32))]

    with pytest.raises(StepwellError, match="pair.box was put off, but no user has replaced it") as error:
        split(program(body))
    assert error.value.code == "unsupported"


def test_a_value_that_no_pattern_splits() -> None:
    with pytest.raises(StepwellError, match="no pattern splits a value of type !pair.pair") as error:
        split(program(loop_of), [SplitAdd, SplitSecond])
    assert error.value.code == "unsupported"


def test_rewrites_are_carried_out_where_all_are() -> None:
    class Counts(RewriteListener):
        found = Counter[str]()
        made = Counter[str]()

        def rewrote(self, pattern: str, op: Operation, made: Sequence[Operation]) -> None:
            self.found[pattern] += 1
            self.made.update(f"{pattern}: {new.name}" for new in made)

    with listening(counts := Counts()):
        split(program(loop_of))
    names = ("SplitMake", "SplitFor", "SplitAdd", "SplitYield", "SplitSecond")
    assert counts.found == dict.fromkeys(names, 1)
    wanted = {"SplitAdd: arith.addf": 2, "SplitYield: scf.yield": 1, "SplitFor: scf.for": 1}
    assert counts.made == wanted
