"""
The TextMate grammar of VS Code's folder, from the table of tokens and the registry of dialects.

Run `make docs` (or `python -m stepwell.tools.lsp.grammar`) after a change; a test fails when it
is stale.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from stepwell.dialects._xdsl import all_dialects, plugged_in_dialects
from stepwell.tools.lsp.tokens import KINDS

GRAMMAR = Path(__file__).resolve().parent / "vscode" / "syntaxes" / "mlir.tmLanguage.json"
_SCOPE = "source.mlir"


def grammar() -> str:
    """The text of the grammar: a pattern for each kind of token, and one for ops of known dialects."""
    dialects = "|".join(sorted(all_dialects().keys() - plugged_in_dialects()))
    patterns: list[dict[str, str]] = []
    for kind in KINDS:
        if kind.name == "op":
            known = rf"\b(?:{dialects})\.[\w$.]+"
            patterns.append({"name": "support.function.mlir", "match": known})
        patterns.append({"name": f"{kind.scope}.mlir", "match": kind.pattern})
    made = {"name": "MLIR", "scopeName": _SCOPE, "fileTypes": ["mlir"], "patterns": patterns}
    return json.dumps(made, indent=2) + "\n"


def main() -> int:
    """Write the grammar; returns the exit status."""
    GRAMMAR.write_text(grammar(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
