"""
Programs as files, for the commands: IR as text, whole or in parts; or a model.

The weights that IR names are in a file of the same folder: `model.weights` for `model.mlir`, or
`all.weights`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.types import WeightAttr
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import unreadable
from stepwell.runtime.files.weights import HASH_CHARS
from stepwell.runtime.files.whole_files import write_text

SPLIT_MARK = "// -----"
STDIN = "-"
_WEIGHT_HASH = re.compile(rf'"([0-9a-f]{{{HASH_CHARS}}})"')
"""A quoted text that may be the hash of a weight."""
SHARED_WEIGHTS = "all.weights"
"""The file of the weights that all IR files of a folder share, as `stepwell compile --dump` writes it."""


@dataclass(frozen=True)
class Part:
    """A file, or a part of a file, padded with empty lines so that line numbers are those of the file."""

    path: Path | None
    """None for standard input."""
    text: str

    @property
    def name(self) -> str:
        """The name of the file in diagnostics."""
        return "<stdin>" if self.path is None else str(self.path)

    def read(self, ctx: StepwellContext) -> ModuleOp:
        """The part as a module, not verified yet. Raises: StepwellError `syntax`, or one of the importer."""
        if self.path is not None and is_model_file(self.path):
            from stepwell.frontend.formats import read_model

            return read_model(self.path, ctx)
        if self.path is not None:
            for weights in (weights_beside(self.path), self.path.with_name(SHARED_WEIGHTS)):
                if weights.exists():
                    ctx.weights.load(weights)
        return parse_module(ctx, self.text, self.name)


def is_model_file(path: Path) -> bool:
    """Whether a file is a model, not IR as text."""
    from stepwell.frontend.formats import is_model_path

    return is_model_path(path)


def weights_beside(path: Path) -> Path:
    """The path of the weight file of a file of IR."""
    return path.with_suffix(".weights")


def write_ir(path: Path, text: str, ctx: StepwellContext) -> None:
    """
    Write a file of IR, and the weight file if the text names weights, with these alone.

    Raises: StepwellError `cannot-write`.
    """
    write_text(path, text)
    if WeightAttr.name in text:
        named = dict.fromkeys(_WEIGHT_HASH.findall(text))
        ctx.weights.save(weights_beside(path), [key for key in named if key in ctx.weights])


def read_ir(path: Path, ctx: StepwellContext) -> ModuleOp:
    """
    A file of IR as a module, not verified yet; loads the weight file into the context.

    Raises: StepwellError `no-file`, `syntax`.
    """
    (part,) = read_parts(str(path))
    return part.read(ctx)


def read_parts(file: str, *, split: bool = False) -> list[Part]:
    """
    The parts of a file (`-`: standard input); one part unless `split`, which cuts at lines `// -----`.

    Raises: StepwellError `no-file`, `syntax`.
    """
    path = None if file == STDIN else Path(file)
    if path is not None and is_model_file(path):
        return [Part(path, "")]
    text = sys.stdin.read() if path is None else _read_text(path)
    if not split:
        return [Part(path, text)]
    parts: list[Part] = []
    lines_before = 0
    for piece in text.split(SPLIT_MARK):
        parts.append(Part(path, "\n" * lines_before + piece))
        lines_before += piece.count("\n")
    return parts


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise unreadable(path, "IR", error) from None
    except UnicodeDecodeError as error:
        raise StepwellError(
            "syntax",
            str(path),
            f"expected IR as UTF-8 text, found byte {error.object[error.start]:#04x} at {error.start}",
            help="a model's file ends in .onnx, an artifact's in .stepwell",
        ) from None
