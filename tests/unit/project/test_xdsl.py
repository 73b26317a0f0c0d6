"""Private names of xDSL: used in one file alone, and listed on the page about xDSL with their reasons."""

from __future__ import annotations

import ast
import re

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
