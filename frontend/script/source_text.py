"""The text of a script and of called scripts, with captured numbers written out."""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import cast

from stepwell.frontend.script.functions import HasSource
from stepwell.frontend.script.language import WORDS
from stepwell.frontend.script.source import Source

_NAMES = {id(word): name for name, word in WORDS.items() if name not in ("min", "max", "abs")}


def source_text(source: Source) -> str:
    """Python text whose last function is the script. Raises: StepwellError `script-syntax`."""
    written: dict[str, str] = {}
    _write(source, written)
    return "\n\n".join(written.values())


def _write(source: Source, written: dict[str, str]) -> None:
    function = deepcopy(source.function)
    function.decorator_list = []
    plain = _Plain(source, written)
    written[source.function.name] = ast.unparse(plain.visit(function)) + "\n"


class _Plain(ast.NodeTransformer):
    """Writes captured numbers out, and functions of scripts by their own names."""

    def __init__(self, source: Source, written: dict[str, str]):
        self._source, self._written = source, written
        nodes = list(ast.walk(source.function))
        stores = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self._own = stores | {n.arg for n in nodes if isinstance(n, ast.arg)}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Replace a captured name."""
        return node if node.id in self._own or isinstance(node.ctx, ast.Store) else self._captured(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace an attribute of a module."""
        replaced = self._captured(node)
        return self.generic_visit(node) if replaced is node else replaced

    def _captured(self, node: ast.expr) -> ast.AST:
        found = self._source.resolved(node)
        if (name := _NAMES.get(id(found))) is not None:
            return ast.Name(name, ast.Load())
        if isinstance(found, HasSource):
            _write(found.source, self._written)
            return node
        if isinstance(found, bool | int | float | tuple):
            return ast.parse(repr(cast("object", found)), mode="eval").body
        return node
