"""Commands in tests: the files that they read, and the one error that they end with."""

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
    The one diagnostic that a command ends with, at status 1; it is neither a traceback nor a bug of ours.
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
