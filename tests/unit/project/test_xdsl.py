"""Private names of xDSL: used in one file alone, and listed on the page about xDSL with their reasons."""

from __future__ import annotations

import ast
import re
from abc import ABCMeta
from importlib import import_module

import pytest
from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i32, i64
from xdsl.dialects.test import TestOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from stepwell.dialects._xdsl import all_dialects
from stepwell.dialects.parser import ExactParser, LocatingParser, _LinearLexer  # pyright: ignore[reportPrivateUsage]
from tests.support.imports import LAYERS, ROOT

ALLOWED = {
    "dialects/_xdsl.py",  # all of them
    "runtime/dims.py",  # no name of xDSL's: functions beside the class whose parts they read
}
PAGE = (ROOT / "docs" / "xdsl.md").read_text(encoding="utf-8")
_IGNORED = re.compile(r"pyright: ignore\[.*reportPrivateUsage")


def test_private_names_are_used_in_one_file() -> None:
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
    tree = ast.parse((ROOT / "dialects" / "_xdsl.py").read_text(encoding="utf-8"))
    private = {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_private(node.attr)
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


@pytest.mark.parametrize("root", [Attribute, Block, Operation, Region, SSAValue])
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
