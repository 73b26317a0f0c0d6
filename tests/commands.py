"""Commands in tests: files to read, and the error with which a command ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from onnx import ModelProto

from stepwell.tools import cli

Capture = pytest.CaptureFixture[str]


def written(path: Path, content: ModelProto | bytes | str) -> Path:
    """A file with a model, bytes or text in it."""
    if isinstance(content, ModelProto):
        content = content.SerializeToString()
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def shown_error(capsys: Capture, command: Callable[[list[str]], int], *argv: str | Path) -> str:
    """
    The diagnostic of a command that ends with status 1, which is neither a traceback nor an internal error.
    """
    assert command([str(argument) for argument in argv]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error[") and error.count("error[") == 1
    assert "Traceback" not in error and "error[internal]" not in error
    return error


def shown_everywhere(capsys: Capture, path: Path) -> str:
    """The diagnostic of a bad file, which all commands agree on; nothing is written."""
    before = sorted(path.parent.iterdir())
    shown = {
        shown_error(capsys, cli.main, "compile", path, "-o", path.parent / "out.stepwell"),
        shown_error(capsys, cli.main, "run", path),
        shown_error(capsys, cli.main, "inspect", path),
    }
    assert len(shown) == 1
    assert sorted(path.parent.iterdir()) == before
    return shown.pop()
