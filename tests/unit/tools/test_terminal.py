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


@pytest.mark.parametrize("command", [["inspect", "--kernels", "--memory"], ["debug", "--list"], ["validate"]])
def test_a_name_is_on_one_line_of_a_table(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a file too, where names are data elsewhere: a line more would be another row."""
    infos = [helper.make_tensor_value_info(name, 1, [2]) for name in ("x", "m\nk9", "y")]
    nodes = [
        helper.make_node("Relu", ["x"], ["m\nk9"], "a\nk1 1 \x1b[2J\tb"),
        helper.make_node("Softmax", ["m\nk9"], ["y"], "end"),
    ]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    assert cli.main([command[0], str(tmp_path / "m.onnx"), *command[1:]]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "\nk1" not in shown and "\nk9" not in shown
    assert "a‹000a›k1 1 ‹001b›[2J‹0009›b" in shown or command == ["validate"]
