"""The requests of the protocol without the protocol: workers answer in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.tools import cli
from stepwell.tools.lsp.document import Document, Json
from stepwell.tools.lsp.session import Session
from stepwell.tools.lsp.worker import answer
from stepwell.tools.lsp.workers import RequestError, Workers


class Here(Workers):
    """Workers without processes."""

    def __init__(self, plugins: Sequence[str] = ()):
        self.plugins = list(plugins)

    def ask(self, what: str, text: str = "", **values: object) -> object:
        try:
            return json.loads(json.dumps(answer({"do": what, **values}, text), default=asdict))
        except StepwellError as error:
            raise RequestError(error.render()) from None

    def read(self, text: str, file: str) -> object | None:
        return self.ask("read", text, file=file)


class Screen:
    """An editor that notes what it is shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def publish(self, document: Document) -> None:
        self.shown.append(f"{len(document.diagnostics())} findings")

    def say(self, message: str, *, is_error: bool = False) -> None:
        self.shown.append(message)

    def show(self, name: str, text: str) -> None:
        self.shown.append(f"{name}: {text}")

    def apply(self, edit: Json) -> None:
        self.shown.append(str(edit))


def session_of(text: str, path: Path = Path("/nowhere/test.mlir")) -> Session:
    session = Session(Here(), Screen())
    session.documents["file:///it"] = document = Document(path.as_uri(), text)
    assert session.read(document)
    return session


def asked(session: Session, method: str, marked: str, **more: object) -> object:
    """The answer to a request at the `|` of a text that stands in the file without it."""
    index = session.documents["file:///it"].index
    place = index.lines.place(index.text.index(marked.replace("|", "")) + marked.index("|"))
    position = {"line": place.line, "character": place.character}
    params: Json = {"textDocument": {"uri": "file:///it"}, "position": position, **more}
    return session.requests[f"textDocument/{method}"](params)


def hovered(session: Session, marked: str) -> str:
    found = cast("Json | None", asked(session, "hover", marked))
    return "" if found is None else cast("dict[str, str]", found["contents"])["value"]


def words(session: Session, marked: str) -> list[str]:
    return [str(word["label"]) for word in cast("list[Json]", asked(session, "completion", marked))]


GRU = """\
// RUN: stepwell-opt %s -p 'fuse-ops{max-ops=4}' --verify-e
%w = graph.constant #graph.weight<"w", "HASH", tensor<2x2xf32>> : tensor<2x2xf32>
%y = linalg.fill {s = #sched.schedule<tile = [4]>}
%z, %h = graph.rnn %y, %w cell "g" dire
graph.
"""


def test_hover_pages() -> None:
    session = session_of(GRU)
    assert hovered(session, "fuse-|ops").startswith("### `fuse-ops`\n\nGroup computing ops")
    assert "| `max-ops` |" in hovered(session, "fuse-|ops")
    assert "the loop is not tiled" in hovered(session, "sched.sche|dule")
    assert hovered(session, "ti|le = ") == hovered(session, "sched.sche|dule")
    page = hovered(session, "graph.r|nn")
    assert "```mlir" in page and "- (C1) `cell` is lstm" in page and "Operands `x`, `w`" in page
    assert "content hash" in hovered(session, "#graph.we|ight")
    assert "used in line 4" in hovered(session, "%|y = ")
    assert hovered(session, "%z, |%h").endswith("not used")
    assert hovered(session, "|= graph.rnn") == ""


def test_hover_of_a_weight_has_its_numbers(tmp_path: Path) -> None:
    store = WeightStore()
    key = store.add(np.array([[1.5, -2], [0, 4]], np.float32))
    store.save(tmp_path / "m.weights")
    session = session_of(GRU.replace("HASH", key), tmp_path / "m.mlir")
    assert hovered(session, "#graph.we|ight").startswith(
        "2x2 float32 from -2 to 4, in m.weights\n\n1.5, -2, 0, 4\n\n### `graph.weight`"
    )


def test_completion() -> None:
    session = session_of(GRU)
    assert words(session, 'cell "g|') == ["lstm", "gru", "rnn"]
    assert {"cell", "direction", "packing"} <= set(words(session, "dire|"))
    assert {"graph.relu", "graph.rnn"} <= set(words(session, "\ngraph.|"))
    assert {"graph", "arith", "func"} <= set(words(session, "%y = lin|"))
    assert {"%w", "%y"} == set(words(session, "rnn %|y"))
    assert "#sched.schedule" in words(session, "#sched.|schedule")
    assert "fuse-ops" in words(session, "-p 'fuse|-ops") and "max-ops" in words(session, "{max|-ops")
    assert "--verify-each" in words(session, "--verify-e|")


def test_an_expected_error_is_a_hint() -> None:
    text = "// expected-error: graph.nope\n%x = graph.nope\n// -----\n%x = graph.nope\n"
    session = session_of(text)
    found = session.documents["file:///it"].diagnostics()
    assert [(d["severity"], cast("Json", cast("Json", d["range"])["start"])["line"]) for d in found] == [
        (4, 1),
        (1, 3),
    ]


def test_only_changed_parts_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "%x = test.op\n// -----\n%y = test.op\n"
    session = session_of(text)
    document = session.documents["file:///it"]
    read: list[str] = []
    monkeypatch.setattr(Here, "read", lambda self, text, file: read.append(text) or {})  # type: ignore
    session.update(document, text.replace("%y", "%changed"))
    assert session.read(document) and read == ["\n%changed = test.op\n"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [("load = [", "stepwell.toml"), ("load = 3", "a list of texts"), ("load = [3]", "a list of texts")],
)
def test_settings_that_cannot_be_read(tmp_path: Path, settings: str, expected: str) -> None:
    (tmp_path / ".stepwell.toml").write_text(settings)
    session = session_of("")
    session.folders = [tmp_path]
    with pytest.raises(RequestError, match=expected):
        session.named_plugins()
    session.folders = [tmp_path / "none"]
    assert session.named_plugins() == []


def test_another_form_keeps_the_names() -> None:
    text = """\
func.func @f(%0: i32, %c: i1) {
  %a:2 = scf.if %c -> (i32, i32) {
    %1 = arith.addi %0, %0 : i32  // a comment
    scf.yield %1, %1 : i32, i32
  } else {
    scf.yield %0, %0 : i32, i32
  }
  func.return
}
"""
    session = session_of(text)
    change = session.commands["stepwell.changeForm"]
    change("file:///it", 2, "generic")
    (shown,) = cast(Screen, session.editor).shown
    assert """'newText': '%1 = "arith.addi"(%0, %0) <{""" in shown
    assert "'start': {'line': 2, 'character': 4}, 'end': {'line': 2, 'character': 32}" in shown
    with pytest.raises(RequestError, match="another form"):  # %a#0, %a#1 cannot be written as results
        change("file:///it", 1, "generic")


def test_the_command_names_the_package_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("pygls", "lsprotocol", "stepwell.tools.lsp.server"):
        monkeypatch.setitem(sys.modules, name, None)
    assert cli.main(["lsp"]) == 1
    assert "error[missing-package]: the language server needs" in capsys.readouterr().err
