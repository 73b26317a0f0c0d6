"""Braces around the statements of conditions and loops (MISRA C:2012, rule 15.6)."""

from __future__ import annotations

_HEADS = ("if (", "for (", "while (")
_STEP = "  "


def braced(text: str) -> str:
    """
    A program with braces around each statement that follows its condition or loop on the same line.

    Lines with a brace or an `else` after the condition stay, as do those of a condition that is longer.
    """
    return "\n".join(part for line in text.split("\n") for part in _parts(line))


def _parts(line: str) -> list[str]:
    """The lines of a line."""
    code = line.lstrip(" ")
    if not code.startswith(_HEADS) or (end := _end_of_head(code)) == 0:
        return [line]
    statement = code[end:].strip()
    if not statement.endswith(";") or statement == ";" or "{" in statement or " else " in statement:
        return [line]
    indent = line[: len(line) - len(code)]
    return [f"{indent}{code[:end]} {{", *_parts(f"{indent}{_STEP}{statement}"), f"{indent}}}"]


def _end_of_head(code: str) -> int:
    """The position after the parenthesis that closes the first one; 0 where it is not on the line."""
    depth = 0
    for position, character in enumerate(code):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 and character == ")":
            return position + 1
    return 0
