"""The language server with pygls' own client, over standard input and output."""

# pyright: reportMissingImports=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.components import needs

pytestmark = pytest.mark.slow
needs("pygls")

from lsprotocol import types  # noqa: E402
from pygls.exceptions import JsonRpcException  # noqa: E402

from tests.explore.lsp_client import Editor, editor  # noqa: E402

PART = """\
// RUN: stepwell-opt %s -p simplify-expr | filecheck %s
// CHECK: graph.relu
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.relu %x : tensor<4xf32> -> tensor<4xf32> loc("Relu_1")
  %y = graph.add %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""
SPLIT = PART.count("\n") + 1


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Generator[Editor]:
    with editor(tmp_path_factory.mktemp("workspace")) as made:
        yield made


def at(text: str, marked: str, line_shift: int = 0) -> types.Position:
    """The place in a text before which `marked` has a `|`."""
    offset = text.index(marked.replace("|", "")) + marked.index("|")
    line = text.count("\n", 0, offset)
    return types.Position(line + line_shift, offset - (text.rfind("\n", 0, offset) + 1))


def params(kind: Any, uri: str, place: types.Position, **more: Any) -> Any:
    """The parameters of a request about a place."""
    return kind(text_document=types.TextDocumentIdentifier(uri), position=place, **more)


@pytest.mark.parametrize("part", [0, 1])
def test_a_file_of_two_parts(opened: Editor, part: int) -> None:
    """Hover, definition, completion: in the second part as in the first."""
    text = f"{PART}// -----\n{PART}"
    shift = part * SPLIT
    uri = opened.open(f"two{part}.mlir", text)
    assert opened.diagnostics(uri) == []
    hover = opened.ask(
        "text_document_hover", params(types.HoverParams, uri, at(PART, "graph.re|lu %x", shift))
    )
    assert "max(x, 0); NaN stays NaN." in hover.contents.value
    place = at(PART, "add |%s", shift)
    found = opened.ask("text_document_definition", params(types.DefinitionParams, uri, place))
    assert found.range.start == at(PART, "|%s = ", shift)
    hover = opened.ask("text_document_hover", params(types.HoverParams, uri, place))
    assert "%s : tensor<4xf32>" in hover.contents.value and 'node "Relu_1"' in hover.contents.value
    place = at(PART, "graph.re|lu %x", shift)
    found = opened.ask("text_document_completion", params(types.CompletionParams, uri, place))
    words = {item.label: item for item in found}
    assert words["graph.relu"].text_edit.range.start == at(PART, "|graph.relu %x", shift)
    assert words["graph.relu"].detail == "max(x, 0); NaN stays NaN."


def test_an_error_and_its_fixes(opened: Editor) -> None:
    text = PART.replace(
        "-> tensor<4xf32>\n  func.return %y : tensor<4", "-> tensor<5xf32>\n  func.return %y : tensor<5"
    )
    uri = opened.open("wrong.mlir", text)
    first, *_ = opened.diagnostics(uri)
    assert (first.code, first.range.start) == ("invalid-ir", at(text, "|graph.add"))
    assert first.range.end == at(text, "graph.add|") and "must be tensor<4xf32>" in first.message
    context = types.CodeActionContext([first])
    document = types.TextDocumentIdentifier(uri)
    actions = opened.ask("text_document_code_action", types.CodeActionParams(document, first.range, context))
    (expected,) = (action for action in actions if "expected-error" in action.title)
    (edit,) = expected.edit.changes[uri]
    assert edit.new_text.startswith("  // expected-error: graph.add: result type must be")
    opened.change(uri, text.replace("  %y =", f"{edit.new_text}  %y ="))
    severities = [diagnostic.severity for diagnostic in opened.diagnostics(uri)]
    assert severities == [types.DiagnosticSeverity.Hint, types.DiagnosticSeverity.Error]
    opened.change(uri, PART.replace("graph.relu %x", "graph.relux %x"))
    (unknown,) = opened.diagnostics(uri)
    actions = opened.ask(
        "text_document_code_action",
        types.CodeActionParams(document, unknown.range, types.CodeActionContext([unknown])),
    )
    (nearest,) = (action for action in actions if action.title == "Write graph.relu")
    assert nearest.edit.changes[uri][0].new_text == "graph.relu"
    opened.change(uri, PART)
    assert opened.diagnostics(uri) == []


def test_a_file_that_does_not_parse(opened: Editor) -> None:
    text = PART.replace("tensor<4xf32> loc", "tensor<4xf32 {(")
    uri = opened.open("broken.mlir", text)
    found = opened.ask("text_document_definition", params(types.DefinitionParams, uri, at(text, "add |%s")))
    assert found.range.start == at(text, "|%s = ")
    place = at(text, "add |%s")
    edit = opened.ask("text_document_rename", params(types.RenameParams, uri, place, new_name="t"))
    assert [e.new_text for e in edit.changes[uri]] == ["%t", "%t"]
    with pytest.raises(JsonRpcException, match="defined here already"):
        opened.ask("text_document_rename", params(types.RenameParams, uri, place, new_name="y"))
    (error,) = opened.diagnostics(uri)
    assert error.code == "syntax"


def test_outline_folds_uses(opened: Editor) -> None:
    uri = opened.open("outline.mlir", PART)
    document = types.TextDocumentIdentifier(uri)
    (symbol,) = opened.ask("text_document_document_symbol", types.DocumentSymbolParams(document))
    assert (symbol.name, symbol.detail, symbol.range.end.line) == ("@f", "func.func", 6)
    folds = opened.ask("text_document_folding_range", types.FoldingRangeParams(document))
    assert {(fold.start_line, fold.end_line) for fold in folds} == {(0, 1), (2, 6)}
    place = at(PART, "add |%s")
    context = types.ReferenceContext(include_declaration=False)
    found = opened.ask("text_document_references", params(types.ReferenceParams, uri, place, context=context))
    assert [use.range.start for use in found] == [place]
    found = opened.ask("text_document_document_highlight", params(types.DocumentHighlightParams, uri, place))
    assert [use.range.start for use in found] == [at(PART, "|%s ="), place]
    lenses = opened.ask("text_document_code_lens", types.CodeLensParams(document))
    titles = [lens.command.title for lens in lenses]
    assert titles == ["Run", "Lower to linalg", "Lower to loops", "Lower to asm"]


def test_run_lines(opened: Editor) -> None:
    """The test of a file runs on its text as it is in the editor; its completion knows passes and options."""
    uri = opened.open("run.mlir", PART)
    assert opened.diagnostics(uri) == []
    assert opened.run("stepwell.runTest", uri, 0)["status"] == 0
    assert "simplify-expr" in opened.told("passed: ")
    opened.change(uri, PART.replace("CHECK: graph.relu", "CHECK: graph.exp"))
    assert opened.diagnostics(uri) == []
    opened.found.clear()
    assert opened.run("stepwell.runTest", uri, 0)["status"] == 1
    (failure,) = opened.diagnostics(uri)
    assert (failure.range.start.line, failure.code) == (1, "check-failed")
    with pytest.raises(JsonRpcException, match="no `// RUN:`"):
        opened.run("stepwell.runTest", uri, 3)
    place = at(PART, "-p simpl|ify-expr")
    found = opened.ask("text_document_completion", params(types.CompletionParams, uri, place))
    assert "fuse-ops" in {item.label for item in found}


def test_nothing_that_a_file_names_is_run(opened: Editor, tmp_path: Path) -> None:
    """A `RUN` line runs our two commands alone, which neither write nor load."""
    place = tmp_path / "written"
    commands = (f"touch {place}", f"stepwell-opt %s -o {place}", "stepwell-opt --load x.py")
    for number, command in enumerate(commands):
        uri = opened.open(f"harmful{number}.mlir", f"// RUN: {command}\n{PART}")
        with pytest.raises(JsonRpcException, match="language server"):
            opened.run("stepwell.runTest", uri, 0)
    assert not place.exists()


def test_commands_show_what_passes_do(opened: Editor) -> None:
    uri = opened.open("commands.mlir", PART)
    changed = opened.run("stepwell.runPass", uri, 3, "fuse-ops")
    assert "+    %y" in changed["diff"] and "graph.fused" in changed["after"]
    with pytest.raises(JsonRpcException, match="unknown-pass"):
        opened.run("stepwell.runPass", uri, 3, "fuse-op")
    assert ".globl" in opened.run("stepwell.emit", uri, 2, "asm")
    assert "linalg.generic" in opened.run("stepwell.emit", uri, 2, "linalg")
    opened.run("stepwell.changeForm", uri, 3, "generic")
    (edit,) = opened.edits.pop().changes[uri]
    assert edit.new_text.startswith('%s = "graph.relu"(%x)') and edit.range.start == at(PART, "|%s = ")
    assert "fuse-ops" in opened.run("stepwell.passes")


PLUGIN = """
import pathlib
pathlib.Path(__file__).with_name("ran").touch()
from xdsl.dialects.builtin import i32
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def
from xdsl.ir import Dialect

@irdl_op_definition
class OneOp(IRDLOperation):
    \"\"\"One.\"\"\"

    name = "mine.one"
    assembly_format = "attr-dict"
    result = result_def(i32)

MINE = Dialect("mine", [OneOp])
"""


def test_plugins_wait_for_trust(tmp_path: Path) -> None:
    """A plugin that the workspace names is code: nothing of it runs before the user says so."""
    (tmp_path / "mine_of_tests.py").write_text(PLUGIN)
    (tmp_path / ".stepwell.toml").write_text('load = ["mine_of_tests.py"]\n')
    with editor(tmp_path) as opened:
        opened.told("stepwell.trust loads")
        uri = opened.open("mine.mlir", "%x = mine.one\n")
        (error,) = opened.diagnostics(uri)
        assert "no dialect has an op mine.one" in error.message and not (tmp_path / "ran").exists()
        opened.found.clear()
        assert opened.run("stepwell.trust") == [str(tmp_path / "mine_of_tests.py")]
        assert opened.diagnostics(uri) == [] and (tmp_path / "ran").exists()
    with editor(tmp_path, "--load", str(tmp_path / "mine_of_tests.py")) as opened:
        uri = opened.open("mine.mlir", "%x = mine.one\n")
        assert opened.diagnostics(uri) == []


def test_a_large_file_has_names_alone(opened: Editor) -> None:
    text = PART + "// 0123456789012345678901234567890123456789012345678\n" * 100_000
    uri = opened.open("large.mlir", text)
    (note,) = opened.diagnostics(uri)
    assert (note.code, note.severity) == ("too-large", types.DiagnosticSeverity.Information)
    found = opened.ask("text_document_definition", params(types.DefinitionParams, uri, at(text, "add |%s")))
    assert found.range.start == at(text, "|%s = ")


def test_results_are_files_for_editors_that_do_not_show_them(tmp_path: Path) -> None:
    with editor(tmp_path, shows_results=False) as opened:
        uri = opened.open("shown.mlir", PART)
        opened.run("stepwell.runPass", uri, 3, "fuse-ops")
        path = Path(opened.told("written to").partition("written to ")[2])
        assert path.name == "shown.diff" and "graph.fused" in path.read_text()
    assert not path.exists()


def test_columns_are_counted_as_the_editor_counts(tmp_path: Path) -> None:
    """After a character beyond the first plane: two units of UTF-16, four of UTF-8."""
    text = '%x = "test.op"() {a = "😀"} : () -> i32 "test.op"(%x) : (i32) -> ()\n'
    end = text.index("(%x)") + 1
    for encoding, column in (("utf-16", end + 1), ("utf-8", end + 3), ("utf-32", end)):
        with editor(tmp_path, encoding=encoding) as opened:
            uri = opened.open("wide.mlir", text)
            place = types.Position(0, column)
            found = opened.ask(
                "text_document_references",
                params(
                    types.ReferenceParams,
                    uri,
                    place,
                    context=types.ReferenceContext(include_declaration=True),
                ),
            )
            assert [use.range.start.character for use in found] == [0, column]
