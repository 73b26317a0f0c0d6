"""`stepwell compile --dump`: the IR after each pass that changed something, and the page about it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from stepwell.dialects._xdsl import StepwellContext
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.dump import compile_and_dump, text_diff
from stepwell.tools.driver.ir_files import SHARED_WEIGHTS, read_ir
from stepwell.tools.driver.options import CompileOptions
from tests.onnx_models import onnx_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`y = relu(x @ w)`, and a sum of it that nobody reads."""
    proto = onnx_model("g (float[N,8] x) => (float[N,4] y) { p = MatMul(x, w) y = Relu(p) z = Abs(y) }")
    weight = np.arange(32, dtype=np.float32).reshape(8, 4)
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    for index, node in enumerate(proto.graph.node):
        node.name = f"node{index}"
    path = tmp_path_factory.mktemp("model") / "m.onnx"
    onnx.save(proto, path)  # pyright: ignore[reportUnknownMemberType]
    return path


@pytest.fixture(scope="module")
def folder(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a dump of the model leaves."""
    folder = tmp_path_factory.mktemp("dump") / "new" / "folder"
    image = compile_and_dump(model, CompileOptions(), folder)
    x = np.ones((2, 8), np.float32)
    assert np.array_equal(CompiledModel(image)(x), x @ np.arange(32, dtype=np.float32).reshape(8, 4))
    return folder


def test_each_file_is_what_one_pass_changed(folder: Path) -> None:
    files = sorted(folder.glob("*.mlir"))
    assert files[0].name == "00-input.mlir" and len(files) > 8
    texts = [file.read_text() for file in files]
    assert all(before != after for before, after in zip(texts, texts[1:], strict=False))
    assert "onnx.MatMul" in texts[0] and "llvm.func @main" in texts[-1]
    assert "define i32 @main" in (folder / "llvm.ll").read_text()
    assert "main:" in (folder / "assembly.s").read_text()
    names = [re.sub(r"^\d+-", "", file.stem) for file in files]
    places = [names.index(n) for n in ("convert-onnx-to-graph", "fuse-ops", "vectorize", "bufferize")]
    assert places == sorted(places)
    for file in files:
        read_ir(file, StepwellContext())  # each can be given to stepwell-opt


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name in ("href", "src") and value is not None]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() not in (tag, "tr", "td", "th"):
            raise AssertionError(f"</{tag}> closes something else")


def test_the_page_links_to_what_is_there(folder: Path) -> None:
    text = (folder / "index.html").read_text()
    page = _Page()
    page.feed(text)
    assert set(page.links) == {f.name for f in folder.iterdir()} - {"index.html", SHARED_WEIGHTS}
    assert "http" not in text.replace("<!DOCTYPE html>", "")
    for words in ("contraction", "matmul, relu", "node0, node1", "<code>fuse-ops</code>", "no change"):
        assert words in text


def test_a_diff_shows_changes_only() -> None:
    before = (
        "module {\n  func.func @f() {\n    %0 = a\n    %1 = b\n    %2 = c %1\n  }\n  func.func @g() {\n  }\n}"
    )
    after = before.replace("    %0 = a\n", "").replace("%1", "%0").replace("%2", "%1")
    assert text_diff(before, after) == (
        "@@ @f: line 1 before, 1 after\n   func.func @f() {\n-    %0 = a\n     %0 = b\n"
    )
    assert text_diff(before, before) == ""


def test_a_second_dump_leaves_no_file_of_the_first_and_loses_no_edit(model: Path, tmp_path: Path) -> None:
    (mine := tmp_path / "notes.mlir").write_text("mine")
    compile_and_dump(model, CompileOptions(), tmp_path)
    first = {file.name for file in tmp_path.iterdir()}
    compile_and_dump(model, CompileOptions(opt_level=0), tmp_path)
    second = {file.name for file in tmp_path.iterdir()}
    assert first - second and mine.read_text() == "mine"
    assert len({name[:2] for name in second if name[:2].isdigit()}) == len(list(tmp_path.glob("*-*.mlir")))
    edited = max(tmp_path.glob("*-*.mlir"))
    with pytest.raises(StepwellError, match=r"cannot-write[\s\S]*is the model"):
        compile_and_dump(edited, CompileOptions(), tmp_path)
    edited.write_text("edited")
    with pytest.raises(StepwellError, match=rf"cannot-write[\s\S]*it was edited[\s\S]*{edited.name}"):
        compile_and_dump(model, CompileOptions(), tmp_path)
    assert edited.read_text() == "edited" and {file.name for file in tmp_path.iterdir()} == second
