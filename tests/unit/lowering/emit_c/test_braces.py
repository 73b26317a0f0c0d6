"""Braces around statements of conditions and loops of C."""

from __future__ import annotations

import pytest

from stepwell.lowering.emit_c import braced


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("  if (f(a) > (b)) return g(c);", ["  if (f(a) > (b)) {", "    return g(c);", "  }"]),
        ("for (i = 0; i < 8; i++) x = i;", ["for (i = 0; i < 8; i++) {", "  x = i;", "}"]),
        (
            "for (i = 0; i < 8; i++) if (p[i]) n++;",
            ["for (i = 0; i < 8; i++) {", "  if (p[i]) {", "    n++;", "  }", "}"],
        ),
        *(
            (line, [line])
            for line in (
                "  if (a) {",
                "  if (a) b = 1; else b = 2;",
                "  if (a &&",
                "  while (a);",
                "  } while (a < b);",
                "  x = if_(a);",
            )
        ),
    ],
)
def test_each_statement_is_in_braces(line: str, lines: list[str]) -> None:
    assert braced(f"a\n{line}\nb").split("\n") == ["a", *lines, "b"]
