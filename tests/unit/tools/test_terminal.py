"""Names with control characters on a terminal, and in a file."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import onnx
import pytest
from onnx import helper

from stepwell.tools import cli
from stepwell.tools.terminal import made_visible, names_made_visible

HOSTILE = "\x1b[2Jgone\x00\u202e"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_unseen_characters_are_their_numbers() -> None:
    assert made_visible(HOSTILE) == "‹001b›[2Jgone‹0000›‹202e›"
    assert made_visible("a\tb\nµ → 12") == "a\tb\nµ → 12"


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_a_terminal_alone_is_changed(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", stream)
    with names_made_visible():
        print(HOSTILE, flush=True)
        assert sys.stdout.isatty() == stream.isatty()
    shown = made_visible(HOSTILE) if stream.isatty() else HOSTILE
    assert (sys.stdout, stream.getvalue()) == (stream, f"{shown}\n")


def test_an_error_shows_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    info = [helper.make_tensor_value_info(name, 1, [2]) for name in ("x", "y")]
    node = helper.make_node("Unheard", ["x"], ["y"], HOSTILE)
    graph = helper.make_graph([node], "g", info[:1], info[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    assert cli.main(["compile", str(tmp_path / "m.onnx")]) == 1
    error = capsys.readouterr().err
    assert "‹001b›[2Jgone" in error
    assert "\x1b" not in error
