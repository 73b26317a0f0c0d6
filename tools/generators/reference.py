"""Markdown from docstrings and definitions, for the generated pages and for editors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields
from inspect import cleandoc, getsource
from textwrap import dedent
from typing import cast, get_type_hints

from xdsl.irdl import IRDLOperation, OptOperandDef, OptPropertyDef, VarOperandDef
from xdsl.passes import ModulePass
from xdsl.utils.hints import type_repr

from stepwell.dialects.graph.base import GraphOp


def option_rows(pass_class: type[ModulePass]) -> Iterator[str]:
    """A row of a table for each option of a pass: name, type, default, meaning."""
    hints = get_type_hints(pass_class)
    texts = _field_texts(pass_class)
    for field in fields(pass_class):
        if field.init and field.name != "name":
            default = "required" if field.default is MISSING else f"`{field.default!r}`"
            kind = type_repr(hints[field.name]).replace("|", "\\|")
            yield f"| `{field.name.replace('_', '-')}` | {kind} | {default} | {texts.get(field.name, '')} |"


def _field_texts(pass_class: type[ModulePass]) -> dict[str, str]:
    """Maps the fields of a class to the docstrings below them."""
    body = cast(ast.ClassDef, ast.parse(dedent(getsource(pass_class))).body[0]).body
    return {
        field.target.id: " ".join(cast(str, text.value.value).split())
        for field, text in zip(body, body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


def markdown(docstring: str | None, owner: str) -> list[str]:
    """A docstring as markdown: constraints become a list, labelled lines paragraphs of their own."""
    if not docstring or docstring.startswith(f"{owner}("):  # the docstring that @dataclass makes
        return []
    lines: list[str] = []
    in_code = False
    for line in cleandoc(docstring).split("\n"):
        if line.startswith("```"):
            if not in_code and lines and lines[-1]:
                lines.append("")
            in_code = not in_code
        elif not in_code:
            if re.match(r"(Constraints|Source|Args|Returns|Raises):", line) and lines and lines[-1]:
                lines.append("")
            line = re.sub(r"^\s*(\(C\d+\))", r"- \1", line)
        lines.append(line)
    return lines


def op_facts(op: type[IRDLOperation]) -> str:
    """The operands, properties and results of an op as a sentence; empty for an op without them."""
    definition = op.get_irdl_definition()
    operands = [
        name + ("?" if isinstance(kind, OptOperandDef) else "…" if isinstance(kind, VarOperandDef) else "")
        for name, kind in definition.operands
    ]
    properties = [
        name + ("?" if isinstance(kind, OptPropertyDef) else "")
        for name, kind in definition.properties.items()
        if name != "operandSegmentSizes"
    ]
    facts = [f"operands {code_list(operands)}"] if operands else []
    facts += [f"properties {code_list(properties)}"] if properties else []
    facts += [f"results {code_list(name for name, _ in definition.results)}"] if definition.results else []
    if issubclass(op, GraphOp):
        facts.append(f"fusion kind {op.KIND.name.lower()}")
    text = "; ".join(facts)
    return f"{text[:1].upper()}{text[1:]}." if facts else ""


def sentence(text: str) -> str:
    """A text with a capital letter and a full stop."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def code_list(names: Iterable[str]) -> str:
    """Names as code, with commas between."""
    return ", ".join(f"`{name}`" for name in names)
