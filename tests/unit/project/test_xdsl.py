"""Private names of xDSL: used in three files alone, and listed on the page about xDSL with their reasons."""

from __future__ import annotations

import ast
import re
from abc import ABCMeta
from importlib import import_module

import pytest
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    MemRefType,
    StringAttr,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Block, ErasedSSAValue, Operation, Region, SSAValue, SSAValues
from xdsl.ir.affine import AffineExpr
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.traits import is_side_effect_free

from stepwell.dialects._xdsl import all_dialects, matched_op_types
from stepwell.dialects.parser import ExactParser, LocatingParser, _LinearLexer  # pyright: ignore[reportPrivateUsage]
from tests.support.imports import LAYERS, ROOT

ALLOWED = {
    "dialects/_xdsl.py",  # all of them, but those of the next file
    "dialects/_xdsl_speed/methods.py",  # methods in the places of xDSL's
    "dialects/_xdsl_speed/objects.py",  # construction and erasure of ops
    "dialects/_xdsl_speed/patterns.py",  # functions of patterns
}
PAGE = (ROOT / "docs" / "xdsl.md").read_text(encoding="utf-8")
_IGNORED = re.compile(r"pyright: (ignore\[.*)?reportPrivateUsage")


def test_private_names_are_used_in_few_files() -> None:
    """Elsewhere pyright reports them, unless a comment says that it shall not."""
    files = (file for layer in LAYERS for file in (ROOT / layer).rglob("*.py"))
    found = {
        file.relative_to(ROOT).as_posix()
        for file in files
        if _IGNORED.search(file.read_text(encoding="utf-8"))
    }
    assert found <= ALLOWED | {"passes/loop/math/lanes.py"}


def _is_private(name: str) -> bool:
    return re.match("_[A-Za-z]", name) is not None and not name.startswith("_abc_")


def test_the_page_lists_them() -> None:
    files = (ROOT / name for name in ALLOWED if name.startswith("dialects/"))
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in files)
    private = {
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and _is_private(node.attr)
    }
    overridden = {
        name
        for cls in (ExactParser, LocatingParser, _LinearLexer)
        for name in vars(cls)
        if _is_private(name) and any(name in vars(base) for base in cls.__mro__[1:])
    }
    assert len(private) >= 3 and len(overridden) >= 4
    assert not [name for name in private | overridden if f"{name}`" not in PAGE]


def _subclasses(cls: type) -> set[type]:
    return {cls}.union(*(_subclasses(subclass) for subclass in type.__subclasses__(cls)))


@pytest.mark.parametrize("root", [AffineExpr, Attribute, Block, Operation, Region, SSAValue])
def test_classes_of_the_ir_have_no_registered_subclasses(root: type) -> None:
    """`isinstance` asks their inheritance alone: those of all dialects, loaded before us or later."""
    for load in all_dialects().values():
        load()
    classes = _subclasses(root)
    assert len(classes) >= (1 if root in (Block, Region) else 3)
    assert not [cls for cls in classes if type(cls).__instancecheck__ is ABCMeta.__instancecheck__]
    registered = import_module("_abc")._get_dump
    assert not [cls for cls in classes if registered(cls)[0]]


def test_numbers_that_an_array_remembers_are_no_part_of_it() -> None:
    """Equality, hash and text are those of the attribute's parameters."""
    asked, other = (DenseArrayBase.from_list(i64, [3, -1]) for _ in range(2))
    assert asked.get_values() == (3, -1) == asked.get_values()
    assert asked == other and hash(asked) == hash(other) and str(asked) == str(other)
    assert DenseArrayBase.from_list(i32, [3, -1]) != asked
    assert DenseArrayBase.from_list(i32, [3, -1]).get_values() == (3, -1)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("region_first", [False, True])
def test_walks_visit_ops_in_xdsl_s_order(reverse: bool, region_first: bool) -> None:
    """Ops before or after what is inside them, blocks and regions forwards or backwards."""

    def op(name: str, *regions: list[list[Operation]]) -> Operation:
        made = TestOp(regions=[Region([Block(ops) for ops in blocks]) for blocks in regions])
        made.attributes["name"] = StringAttr(name)
        return made

    inner = op("d", [[op("e")], [op("f"), op("g")]])
    root = op("a", [[op("b"), op("c", [[inner]], [[op("h")]])], []], [[op("i")]])

    def expected(root: Operation) -> list[str]:
        step = -1 if reverse else 1
        blocks = [block for region in root.regions[::step] for block in list(region.blocks)[::step]]
        inside = [name for block in blocks for op in list(block.ops)[::step] for name in expected(op)]
        own = [str(root.attributes["name"])]
        return inside + own if region_first else own + inside

    found = root.walk(reverse=reverse, region_first=region_first)
    assert [str(op.attributes["name"]) for op in found] == expected(root)
    inside = root.regions[0].walk(reverse=reverse, region_first=region_first)
    names = [name for name in expected(root) if name not in ('"a"', '"i"')]
    assert [str(op.attributes["name"]) for op in inside] == names


def test_ops_keep_the_uses_of_their_operands() -> None:
    """A new op, a replaced and an erased value: lists of uses and operands say the same."""
    block = Block(arg_types=[i32, i64])
    first, second = block.args
    one, two = (TestOp([first, second, first], [i32]) for _ in range(2))
    block.add_ops([one, two])
    assert [(use.operation, use.index) for use in first.uses] == [(two, 2), (two, 0), (one, 2), (one, 0)]
    first.replace_all_uses_with(one.results[0])
    assert not list(first.uses) and second.uses.get_length() == 2
    assert list(two.operands) == [one.results[0], second, one.results[0]] == list(one.operands)
    rest = one.operands[1:]
    assert isinstance(rest, SSAValues) and rest.types == (i64, i32)
    with pytest.raises(ValueError, match="still has uses"):
        one.results[0].erase()
    one.results[0].erase(safe_erase=False)
    assert all(isinstance(two.operands[index], ErasedSSAValue) for index in (0, 2))


def test_an_op_cannot_be_added_to_a_block_inside_it_or_twice() -> None:
    block = Block()
    around = TestOp(regions=[Region(block)])
    with pytest.raises(ValueError, match="contained in the operation"):
        block.add_op(around)
    block.add_op(inside := TestOp())
    with pytest.raises(ValueError, match="already attached"):
        Block().add_op(inside)


def test_ops_leave_a_block_from_each_end() -> None:
    """The first, the last, one between and the only one: neighbours are next to each other then."""
    block = Block(ops := [TestOp() for _ in range(4)])
    for op, left in ((1, [0, 2, 3]), (0, [2, 3]), (3, [2]), (2, [])):
        assert ops[op].parent is block and block.detach_op(ops[op]) is ops[op]
        assert [ops[op].parent, ops[op].next_op, ops[op].prev_op] == [None] * 3
        assert list(block.ops) == [ops[n] for n in left] == list(reversed(list(reversed(block.ops))))
        with pytest.raises(ValueError, match="different block"):
            block.detach_op(ops[op])
    assert block.first_op is None and block.last_op is None


def test_clones_have_operands_and_names_of_their_own() -> None:
    value = TestOp(result_types=[i32]).results[0]
    made = TestOp([value], [i32], attributes={"a": StringAttr("b")})
    made.results[0].name_hint = "x"
    user = TestOp([made.results[0], value])
    values: dict[SSAValue, SSAValue] = {}
    around = TestOp(regions=[Region(Block([made, user]))]).clone(values)
    first, second = around.regions[0].block.ops
    assert list(first.operands) == [value] and list(second.operands) == [first.results[0], value]
    assert values[made.results[0]] is first.results[0] and first.results[0].name_hint == "x"
    assert first.attributes == made.attributes and first.attributes is not made.attributes
    assert list(user.clone({made.results[0]: value}).operands) == [value, value]
    assert list(user.operands) == [made.results[0], value] and made.results[0].has_one_use()
    assert made.clone(clone_name_hints=False).results[0].name_hint is None
    assert not list(user.clone(clone_operands=False).operands)


def test_the_op_around_an_op() -> None:
    inner = TestOp()
    assert inner.parent_op() is None
    block = Block([inner])
    assert inner.parent_op() is None
    region = Region(block)
    assert inner.parent_op() is None
    around = TestOp(regions=[region])
    assert inner.parent_op() is around


def test_effects_are_those_of_the_class_or_of_what_is_inside() -> None:
    value = TestOp(result_types=[i1, IndexType(), MemRefType(i32, [4])]).results
    condition, index, array = value

    def branch(*ops: Operation) -> Operation:
        return scf.IfOp(condition, [], Region(Block([*ops, scf.YieldOp()])))

    load = memref.LoadOp.get(array, [index])
    assert is_side_effect_free(arith.AddiOp(index, index)) and not is_side_effect_free(load)
    assert is_side_effect_free(branch(arith.AddiOp(index, index)))
    assert not is_side_effect_free(branch(memref.StoreOp.get(load.res, array, [index])))
    assert not is_side_effect_free(TestOp())


def test_an_op_gets_defaults_and_segments() -> None:
    """Properties that are not given, in xDSL's order; named operands by the numbers of each."""
    value = TestOp(result_types=[i32]).results[0]
    added = arith.AddiOp(value, value)
    assert list(added.properties) == ["overflowFlags"] and added.lhs is added.rhs is value
    index = TestOp(result_types=[IndexType()]).results[0]
    buffer = TestOp(result_types=[MemRefType(i32, [4, 4])]).results[0]
    offsets, strides = [DYNAMIC_INDEX, 0], [1, DYNAMIC_INDEX]
    view = memref.SubviewOp(buffer, [index], [], [index], offsets, [2, 2], strides, buffer.type)
    assert view.source is buffer and not view.sizes
    assert tuple(view.offsets) == tuple(view.strides) == (index,)
    with pytest.raises(ValueError, match="Expected 2 operand"):
        arith.AddiOp.build(operands=[value], result_types=[i32])
    assert DenseArrayBase.from_list(f32, [0.0]) != DenseArrayBase.from_list(f32, [-0.0])


def test_ops_and_values_are_equal_by_identity() -> None:
    ops = [TestOp(result_types=[i32], regions=[Region(Block())]) for _ in range(2)]
    first, second = ([op.results[0], op, op.regions[0], op.regions[0].block] for op in ops)
    assert all(one == one and one != other for one, other in zip(first, second, strict=True))  # noqa: PLR0124
    assert len({*first, *second, *first}) == 8 and first[0] != "text"


class _ByName(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: arith.AddiOp | arith.SubiOp, rewriter: PatternRewriter) -> None:
        rewriter.erase(op)


def test_patterns_know_their_classes_by_name() -> None:
    assert matched_op_types(_ByName()) == (arith.AddiOp, arith.SubiOp)
    value = TestOp(result_types=[i32]).results[0]
    block = Block(ops := [each(value, value) for each in (arith.AddiOp, arith.MuliOp, arith.SubiOp)])
    for op in ops:
        _ByName().match_and_rewrite(op, PatternRewriter(op))
    assert [type(op) for op in block.ops] == [arith.MuliOp]


class _OfNoOp:
    def missing(self, op: Missing, rewriter: PatternRewriter) -> None: ...  # type: ignore  # noqa: F821
    def attribute(self, op: arith.Missing, rewriter: PatternRewriter) -> None: ...  # type: ignore
    def number(self, op: int, rewriter: PatternRewriter) -> None: ...
    def alone(self, op: arith.AddiOp) -> None: ...


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing", "name 'Missing' is not defined"),
        ("attribute", "has no attribute 'Missing'"),
        ("number", "to be an `Operation` subclass"),
        ("alone", "to have two non-self arguments"),
    ],
)
def test_patterns_without_an_op_class_are_refused(name: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        op_type_rewrite_pattern(vars(_OfNoOp)[name])


def test_segments_of_operands() -> None:
    """One value, none, several: of ops whose sizes an attribute has, and of ops with one list."""
    values = TestOp(result_types=[IndexType(), IndexType(), MemRefType(i32, [4, 4])]).results
    i, j, array = values
    load = memref.LoadOp.get(array, [i, j])
    assert tuple(load.indices) == (i, j) and load.memref is array
    made = memref.AllocOp([i], [j], MemRefType(i32, [DYNAMIC_INDEX]))
    assert tuple(made.dynamic_sizes) == (i,) and tuple(made.symbol_operands) == (j,)
    test = TestOp(values)
    assert tuple(test.ops) == tuple(values) and list(test.ops.types) == [each.type for each in values]
