"""The tokens of MLIR's text as one table, for the index of the language server and all highlighters."""

from __future__ import annotations

import re
from typing import NamedTuple

SUFFIX = r"(?:\d+|[\w$.-]+)"
"""What follows `%`, `^`, `#` and `!` in a name."""
STRING = r'"(?:[^"\\\n]|\\.)*"'
COMMENT = r"//[^\n]*"
SYMBOL = rf"@(?:[A-Za-z_][\w$.]*|{STRING})"
SPLIT = re.compile(r"^// -----.*$", re.MULTILINE)
"""The line between two parts of a file."""


class TokenKind(NamedTuple):
    """A kind of token: expression, scope in TextMate grammars, token type in Pygments."""

    name: str
    pattern: str
    scope: str
    pygments: str


# The first that matches at a place wins.
KINDS = (
    TokenKind("split", r"// -----.*$", "markup.heading", "Generic.Subheading"),
    TokenKind(
        "directive", r"// ?(?:RUN|CHECK|expected-\w+)\b.*$", "comment.line.directive", "Comment.Special"
    ),
    TokenKind("comment", r"//.*$", "comment.line.double-slash", "Comment.Single"),
    TokenKind("quoted-op", rf"{STRING}(?=\s*\()", "entity.name.function", "Name.Function"),
    TokenKind("string", STRING, "string.quoted.double", "String"),
    TokenKind("value", rf"%{SUFFIX}(?:#\d+)?", "variable.other", "Name.Variable"),
    TokenKind("block", rf"\^{SUFFIX}", "entity.name.label", "Name.Label"),
    TokenKind("symbol", SYMBOL, "entity.name.type.symbol", "Name.Class"),
    TokenKind("attribute", rf"#{SUFFIX}", "constant.other.attribute", "Name.Constant"),
    TokenKind("type", rf"!{SUFFIX}", "storage.type", "Keyword.Type"),
    TokenKind("key", r"[A-Za-z_][\w$.]*(?=\s*=[^=])", "entity.other.attribute-name", "Name.Attribute"),
    TokenKind("location", r"\bloc(?=\s*\()", "keyword.other.location", "Keyword.Pseudo"),
    TokenKind("op", r"[A-Za-z_]\w*\.[\w$.]+", "entity.name.function", "Name.Function"),
    TokenKind(
        "shaped-type", r"\b(?:tensor|memref|vector|complex|tuple)(?=\s*<)", "storage.type", "Keyword.Type"
    ),
    TokenKind(
        "dimensions",
        r"(?!0x[0-9A-Fa-f])(?:\b\d+|\?)x(?:(?:\d+|\?)x)*",
        "constant.numeric.dimension",
        "Number.Integer",
    ),
    TokenKind(
        "element-type",
        r"(?:\b|(?<=x))(?:[su]?i\d+|index|none|bf16|f8\w+|f\d+|tf32)\b",
        "storage.type.element",
        "Keyword.Type",
    ),
    TokenKind("float", r"-?\b\d+\.\d*(?:[eE][+-]?\d+)?", "constant.numeric.float", "Number.Float"),
    TokenKind("hexadecimal", r"\b0x[0-9A-Fa-f]+", "constant.numeric.hex", "Number.Hex"),
    TokenKind("integer", r"-?\b\d+", "constant.numeric.integer", "Number.Integer"),
    TokenKind("constant", r"\b(?:true|false|unit|dense|sparse)\b", "constant.language", "Keyword.Constant"),
    TokenKind("word", r"[A-Za-z_][\w$]*", "keyword.other", "Keyword"),
    TokenKind("arrow", r"->", "keyword.operator.arrow", "Operator"),
)
