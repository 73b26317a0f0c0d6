"""`stepwell compile --dump`: the IR after each pass that changed something, and the page about it."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from pathlib import Path
from zlib import decompress

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes.text_diff import text_diff
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.ir_files import read_ir
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.dump import compile_and_dump
from tests.onnx_models import onnx_model
from tests.support.samples import whole


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


def test_the_page_is_the_explorers(folder: Path) -> None:
    text = (folder / "index.html").read_text()
    chunk = re.findall(r'id="chunk-index">([^<]*)<', text)[0]
    data = json.loads(decompress(b64decode(chunk)))
    assert [node["name"] for node in data["nodes"]] == ["node0", "node1", "node2"]
    assert [(kernel["rule"], kernel["calls"]) for kernel in data["kernels"]] == [("contraction", ["c0"])]
    assert data["calls"][0]["nodes"] == ["n0", "n1"] and data["calls"][0]["flops"] > 0


def test_a_diff_shows_changes_only() -> None:
    before = (
        "module {\n  func.func @f() {\n    %0 = a\n    %1 = b\n    %2 = c %1\n  }\n  func.func @g() {\n  }\n}"
    )
    after = before.replace("    %0 = a\n", "").replace("%1", "%0").replace("%2", "%1")
    assert text_diff(before, after) == (
        "@@ @f: line 1 before, 1 after\n   func.func @f() {\n-    %0' = a\n     %0 = b\n"
    )
    assert text_diff(before, before) == ""
    assert text_diff("h\na\nx\n", "h\nx\nb\n").splitlines()[1:] == [" h", "-a", " x", "+b"]


def _changed(before: str, after: str) -> list[str]:
    return [line for line in text_diff(before, after).splitlines() if line[0] in "+-"]


_KERNELS = """builtin.module {
  func.func @main(%x: f32) -> f32 {
    %a = func.call @k0(%x) : (f32) -> f32
    %b = func.call @k1(%a) : (f32) -> f32
    func.return %b : f32
  }
  func.func private @k0(%p: f32) -> f32 {
    %c1 = arith.constant 1.0 : f32
    %0 = arith.addf %p, %c1 : f32
    %1 = arith.mulf %0, %c1 : f32
    %2 = arith.subf %1, %0 : f32
    func.return %2 : f32
  }
  func.func private @k1(%p: f32) -> f32 {
    %0 = arith.mulf %p, %p : f32
    func.return %0 : f32
  }
}
"""


def test_a_symbol_with_another_name_is_one_line() -> None:
    """Its calls and its body are what they were."""
    diff = text_diff(_KERNELS, _KERNELS.replace("@k0", "@k_f00d").replace("@k1", "@k_beef"))
    assert diff == "@@ @k_f00d: named @k0 before\n@@ @k_beef: named @k1 before\n"


def test_a_call_of_another_function_is_a_change() -> None:
    after = _KERNELS.replace("call @k1", "call @k0")
    assert _changed(_KERNELS, after) == [
        "-    %b = func.call @k1(%a) : (f32) -> f32",
        "+    %b = func.call @k0(%a) : (f32) -> f32",
    ]


def test_an_operand_that_is_another_value_is_a_change() -> None:
    after = _KERNELS.replace("arith.subf %1, %0", "arith.subf %0, %1")
    assert _changed(_KERNELS, after) == [
        "-    %2 = arith.subf %1, %0 : f32",
        "+    %2 = arith.subf %0, %1 : f32",
    ]


def test_values_with_other_names_are_no_change() -> None:
    after = _KERNELS.replace("%1", "%product").replace("%0", "%c1_4").replace("%p", "%0")
    assert text_diff(_KERNELS, after) == ""


def test_lines_of_before_have_the_names_of_after() -> None:
    """A new op shifts all numbers; of what is replaced, operands have their new names."""
    after = _KERNELS.replace("%1 = arith.mulf %0, %c1", "%2 = arith.divf %1, %c1")
    after = after.replace("%0 = arith.addf %p, %c1", "%0 = arith.negf %p : f32\n    %1 = arith.addf %p, %c1")
    after = after.replace("%2 = arith.subf %1, %0", "%3 = arith.subf %2, %1").replace(
        "return %2", "return %3"
    )
    assert _changed(_KERNELS, after) == [
        "+    %0 = arith.negf %p : f32",
        "-    %2 = arith.mulf %1, %c1 : f32",
        "+    %2 = arith.divf %1, %c1 : f32",
    ]


def test_what_is_gone_is_not_taken_for_what_has_its_name() -> None:
    after = _KERNELS.replace("    %1 = arith.mulf %0, %c1 : f32\n", "")
    after = after.replace("%2 = arith.subf %1, %0", "%1 = arith.subf %c1, %0").replace(
        "return %2", "return %1"
    )
    assert _changed(_KERNELS, after) == [
        "-    %1' = arith.mulf %0, %c1 : f32",
        "-    %1 = arith.subf %1', %0 : f32",
        "+    %1 = arith.subf %c1, %0 : f32",
    ]


def test_a_name_of_one_region_may_be_used_in_another() -> None:
    second = "    %b = graph.fused (%p = %x : f32) -> (f32) {\n      %0 = b %p\n      %1 = c %0\n    }\n"

    def text(first: str) -> str:
        return f"  func.func @f() {{\n    %a = graph.fused (%p = %x : f32) {{\n{first}    }}\n{second}  }}\n"

    changed = _changed(
        text("      %0 = a %p\n      %1 = c %0\n      d %1\n"), text("      %0 = c %p\n      d %0\n")
    )
    assert changed == ["-      %0' = a %p", "-      %0 = c %0'", "+      %0 = c %p"]


@whole
def test_the_dump_of_several_kernels_shows_what_each_pass_changed(tmp_path: Path) -> None:
    """Kernels get their final names before they are tiled: a line each, and none of the calls and bodies."""
    nodes = " ".join(
        f"a{i} = MatMul(x{i}, w) b{i} = Softmax(a{i}) x{i + 1} = CumSum(b{i}, i)" for i in range(2)
    )
    weights = f"<float[4, 4] w = {{{', '.join('1' * 16)}}}, int64 i = {{1}}>"
    model = onnx_model(f"g (float[N, 4] x0) => (float[N, 4] x2) {weights} {{ {nodes} }}")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    compile_and_dump(tmp_path / "m.onnx", CompileOptions(), tmp_path / "dump")
    diffs = {file.name: file.read_text().splitlines() for file in sorted((tmp_path / "dump").glob("*.diff"))}
    renaming, lines = next(
        (n, text) for n, text in diffs.items() if any(" named @k0 " in line for line in text)
    )
    assert sum(" named @k" in line for line in lines) >= 3
    assert sum(line[0] in "+-" for line in lines) <= 8, renaming


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
