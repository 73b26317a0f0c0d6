"""The index of names: by tokens alone, in files that do not parse too."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stepwell.tools.lsp import block
from stepwell.tools.lsp.index import Index
from stepwell.tools.lsp.text import Lines, Place, Span
from tests.support.imports import ROOT

MLP = """\
func.func @helper(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> tensor<4xf32> attributes {a.b} {
  // %x in a comment, and "%x" in a string:
  %y = "graph.relu"(%x) {note = "%x }"} : (tensor<4xf32>) -> tensor<4xf32>
  %z = func.call @helper(%y) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %z : tensor<4xf32>
}
"""


def at(text: str, marked: str, count: int = 0) -> int:
    """The offset of the character before which `marked` has a `|`, of the given occurrence."""
    before = marked.index("|")
    found = -1
    for _ in range(count + 1):
        found = text.index(marked.replace("|", ""), found + 1)
    return found + before


def lines_of(index: Index, offset: int) -> list[int]:
    """The lines, from 1 on, where the name at an offset stands; the first is that of its definition."""
    return [index.lines.place(span.start).line + 1 for span in index.spans_at(offset)]


def test_arguments_are_those_of_their_function() -> None:
    index = Index(MLP)
    assert lines_of(index, at(MLP, "(|%x)")) == [5, 7]
    assert lines_of(index, at(MLP, "relu |%x :")) == [1, 2]


def test_symbols_are_found_in_other_functions() -> None:
    index = Index(MLP)
    assert lines_of(index, at(MLP, "call @he|lper")) == [1, 8]
    assert [(s.name, s.detail) for s in index.outline()] == [("@helper", "func.func"), ("@main", "func.func")]


LOOPS = """\
func.func @f(%n: index, %x: memref<8xf32>) {
  %a, %b:2 = "test.op"() : () -> (index, index, index)
  %s = scf.for %i = %a to %b#1 step %n iter_args(%acc = %n, %more = %a) -> (index) {
    %t = arith.addi %acc, %i : index
    scf.yield %t : index
  }
  scf.forall (%p, %q) in (4, 8) {
    %t = arith.addi %p, %q : index
  }
  cf.br ^end(%s : index)
^end(%r: index):
  memref.store %late, %x[%r] : memref<8xf32>
  cf.br ^end(%a : index)
}
"""


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ("arith.addi |%acc", [3, 4]),
        ("%acc, |%i :", [3, 4]),
        ("addi %acc, %i : index\n    scf.yield |%t", [4, 5]),
        ("addi |%p, %q", [7, 8]),
        ("[|%r]", [11, 12]),
        ("br |^end(%a", [11, 10, 13]),
        ("to |%b#1", [2, 3]),
        ("|%late", [12]),
    ],
)
def test_names_are_those_of_their_region(place: str, lines: list[int]) -> None:
    index = Index(LOOPS)
    offset = at(LOOPS, place)
    assert lines_of(index, offset) == lines
    assert (index.definition_at(offset) is None) == ("late" in place)


def test_results_before_fused_arguments() -> None:
    text = """\
  %k = graph.fused (%a = %x : tensor<4xf32>, %b = %y : tensor<4xf32>) -> tensor<4xf32> {
    %k = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %k : tensor<4xf32>
  }
  %l = graph.neg %k : tensor<4xf32> -> tensor<4xf32>
"""
    index = Index(text)
    assert lines_of(index, at(text, "yield |%k")) == [2, 3]
    assert lines_of(index, at(text, "neg |%k")) == [1, 5]
    assert lines_of(index, at(text, "add |%a")) == [1, 2]


BROKEN = """\
func.func @first(%x: tensor<4xf32>) {
  %s = graph.relu %x : tensor<4xf32
  %t = graph.add %s, : ( {
func.func @second(%x: tensor<4xf32>) {
  %s = graph.
  %u = graph.neg %s
"""


def test_files_that_do_not_parse() -> None:
    index = Index(BROKEN)
    assert lines_of(index, at(BROKEN, "add |%s")) == [2, 3]
    assert lines_of(index, at(BROKEN, "neg |%s")) == [5, 6]
    assert [symbol.name for symbol in index.outline()] == ["@first", "@second"]


def test_parts_are_programs_by_themselves() -> None:
    text = f"{MLP}// -----\n{MLP}"
    index = Index(text)
    assert lines_of(index, at(text, "call @he|lper", 1)) == [12, 19]
    assert lines_of(index, at(text, "(|%x)", 1)) == [16, 18]
    assert [part.name for part in index.outline()] == ["part 1", "part 2"]
    assert [symbol.name for symbol in index.outline()[1].children] == ["@helper", "@main"]


def test_aliases_and_symbols_of_the_generic_form() -> None:
    text = """\
#map = affine_map<(d0) -> (d0)>
!t = tensor<4xf32>
"func.func"() <{sym_name = "f", function_type = () -> ()}> ({
  %a = "test.op"() {m = #map, n = #graph.weight<"w", "0", !t>, c = @f} : () -> !t
}) : () -> ()
"""
    index = Index(text)
    assert lines_of(index, at(text, "|#map,")) == [1, 4]
    assert lines_of(index, at(text, "|!t>")) == [2, 4, 4]
    assert lines_of(index, at(text, "|@f")) == [3, 4]
    assert index.spans_at(at(text, "|#graph")) == []


def test_folds() -> None:
    index = Index(MLP + LOOPS)
    folded = {(index.lines.place(a).line + 1, index.lines.place(b).line + 1) for a, b in index.folds()}
    assert {(1, 4), (5, 10), (11, 24), (13, 16), (17, 19)} <= folded
    module = f"builtin.module {{\n{MLP}}}\n"
    index = Index(module)
    assert (0, 11) in {(index.lines.place(a).line, index.lines.place(b).line) for a, b in index.folds()}


def test_rename() -> None:
    index = Index(LOOPS)
    edits = index.renamed(at(LOOPS, "to |%b#1"), "wide")
    assert [(LOOPS[s.start : s.end], new) for s, new in edits] == [("%b", "%wide")] * 2
    edits = index.renamed(at(LOOPS, "|^end(%a"), "^exit")
    assert [new for _, new in edits] == ["^exit"] * 3
    for name, reason in (("acc", "defined"), ("t", "defined"), ("a b", "no name"), ("", "no name")):
        with pytest.raises(ValueError, match=reason):
            index.renamed(at(LOOPS, "%a to"[0] + "|a to"), name)
    with pytest.raises(ValueError, match="there is no name"):
        index.renamed(at(LOOPS, "scf.f|or %i"), "x")


def test_values_that_can_be_named() -> None:
    index = Index(LOOPS + MLP)
    names = dict(index.values_at(at(LOOPS, "    |scf.yield")))
    assert {"%a", "%acc", "%i", "%x", "%t", "@f", "@main"} <= set(names)
    assert not {"%p", "%y"} & set(names)
    assert names["%i"].startswith("%s = scf.for %i")


def test_a_change_reads_one_function_again() -> None:
    """What has not changed is the same object, at its new place."""
    before = Index(MLP)
    text = MLP.replace("  %r = ", "  %added = test.op\n  %r = ")
    after = Index(text, before)
    old, new = (index.parts[0].pieces for index in (before, after))
    assert new[-1].scan is old[-1].scan and new[-2].scan is not old[-2].scan
    assert lines_of(after, at(text, "(|%x)")) == [6, 8]


def everything(index: Index) -> object:
    """What an index knows, for comparisons."""
    scopes: list[object] = []
    for piece in (piece for part in index.parts for piece in part.pieces):
        names = piece.scan.all_names
        scopes += [(s.start, s.end, s.isolated, s.parent and s.parent.start) for s in names.scopes]
        scopes += [(d.name, d.spans, d.detail, d.scope.start) for d in names.definitions]
        scopes += [names.unknown, piece.start]
    mentions = [(index.name_at(at), index.spans_at(at)) for at in range(0, len(index.text) + 1, 5)]
    return scopes, mentions, index.outline(), sorted(index.folds())


FRAGMENTS = st.sampled_from([
    "{", "}", "{a, ", "{b = %n", "%x", "^b", "@f", " =", ", ", "\n", "(", '"', "//", " : ", "// -----\n",
    "  %n = op.a\n", "  %x = %c\n", "%a =\n", "%a,\n", "  %x = op.a %y {\n", "  scf.for %i = %x {\n",
    "    func.func @g(", "^b(%x : t):\n", '"op.a"() ({\n', 'sym_name = "f"', "#m = 1\n",
])  # fmt: skip


@given(
    start=st.lists(FRAGMENTS, max_size=40).map("".join),
    edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), FRAGMENTS), min_size=1, max_size=4),
)
@example("op.a op\n%a =\n  %x = op.a %y\n  %b = op.c %a\n", [(0, 0, "%x")])
@example("op.a op\n%long_name,\n  %x = op.a %y\n  %b = op.c %long_name\n", [(0, 0, "%x")])
@example("op.a op\n%a, {b = %n\n  %x = op.a %i = %j } {\n  %b = op.c %i\n", [(0, 0, "%x")])
@example(
    '"op.a"() ({\n"op.a"() ({\n{  %n = op.a\n  scf.for %i = %x {\n  scf.for %i = %x {\n',
    [(0.25, 2, "}"), (0.296875, 0, "  %n = op.a\n")],
)
@settings(max_examples=150)
def test_an_index_after_edits_is_that_of_the_text(start: str, edits: list[tuple[float, int, str]]) -> None:
    """However the text was cut in blocks, and whichever of them remained."""
    text = start
    with patch.object(block, "BLOCK_CHARACTERS", 5):
        index = Index(text)
        for where, length, new in edits:
            begin = round(where * len(text))
            text = text[:begin] + new + text[begin + length :]
            index = Index(text, index)
    assert everything(index) == everything(Index(text))
    for at in range(0, len(text) + 1, 5):
        assert index.definition_at(at) == _definition_among_all(index, at)


def _definition_among_all(index: Index, offset: int) -> Span | None:
    """The definition of a name where all names of its piece are read, later uses too."""
    part = index.part_at(offset)
    piece = part.piece_at(offset)
    if (mention := piece.scan.mention_at(offset - piece.start)) is None:
        return None
    if mention.name[0] in "%^":
        return None if mention.definition is None else piece.shifted(mention.definition.span)
    shared = part.shared.get(mention.name)
    return None if shared is None else shared[0].shifted(shared[1].span)


def test_a_change_reads_few_lines_of_a_function_again() -> None:
    text = "func.func @f() {\n" + "  %a = test.op\n" * 2000 + "}\n"
    before = Index(text)
    after = Index(text[:9000] + "%" + text[9000:], before)
    old, new = (index.parts[0].pieces[-1].scan.blocks for index in (before, after))
    assert len(new) > 5 and len(set(new) - set(old)) == 1


def test_every_test_file_of_ours_is_understood() -> None:
    """Each value and label that the FileCheck tests use is found to be defined, but in those of bad input."""
    unknown = {
        f"{path.name}: {name}"
        for path in (ROOT / "tests" / "filecheck").rglob("*.mlir")
        for part in Index(path.read_text(encoding="utf-8")).parts
        for piece in part.pieces
        for name, _ in piece.scan.all_names.unknown
        if name[0] in "%^"
    }
    assert unknown == {"verify-diagnostics-mlir.mlir: %x"}


def test_places_are_counted_in_utf_16() -> None:
    lines = Lines("a😀b\n%é")
    assert lines.place(2) == Place(0, 3) and lines.offset(0, 3) == 2
    assert lines.place(6) == Place(1, 2) and lines.offset(1, 2) == 6
    assert lines.offset(0, 99) == 3 and lines.offset(9, 0) == 6


@pytest.mark.parametrize("text", ["", "}", "{", "%", "// -----", "\n// -----\n", "%x =", "@", '"', "^bb0("])
def test_fragments(text: str) -> None:
    index = Index(text)
    for offset in range(len(text) + 1):
        assert isinstance(index.spans_at(offset), list) and isinstance(index.values_at(offset), list)
    assert not index.outline() or "// -----" in text
    assert all(span.start <= span.end for span in index.folds())


@pytest.mark.sample(3)
@pytest.mark.parametrize("text", [MLP, LOOPS, BROKEN])
def test_any_beginning_and_any_end_of_a_text(text: str) -> None:
    """What is being written is cut off anywhere; a change gives what a new index would."""
    index = Index(text)
    for cut in range(len(text)):
        for changed in (text[:cut], text[cut:]):
            index, fresh = Index(changed, index), Index(changed)
            assert (index.outline(), index.folds()) == (fresh.outline(), fresh.folds())
            assert index.spans_at(cut // 2) == fresh.spans_at(cut // 2)
