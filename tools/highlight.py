"""A Pygments lexer for MLIR's text, which colours pages, notebooks and terminals."""

from __future__ import annotations

import re
from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Punctuation, Text, Whitespace, string_to_tokentype

from stepwell.tools.lsp.tokens import KINDS


class MlirLexer(RegexLexer):
    """The lexer of `.mlir` files; the entry point `pygments.lexers` has it under the name `mlir`."""

    name = "MLIR"
    aliases: ClassVar = ["mlir"]
    filenames: ClassVar = ["*.mlir"]
    mimetypes: ClassVar = ["text/x-mlir"]
    flags = re.MULTILINE
    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            *((kind.pattern, string_to_tokentype(kind.pygments)) for kind in KINDS),
            (r"[(){}\[\]<>=:,*+/?|.-]", Punctuation),
            (r".", Text),
        ]
    }
