"""WebAssembly: numbers of its format, objects, the linker, and modules; `make deploy` runs them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.lowering.export.wasm.encoding import CODE, EXPORTS, IMPORTS, MAGIC, Bytes, signed, unsigned
from stepwell.lowering.export.wasm.linker import LinkedModule, link_module
from stepwell.lowering.export.wasm.module import heap_base
from stepwell.lowering.export.wasm.objects import read_object
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.link.linker import UndefinedSymbols
from stepwell.runtime.machine.target import target_from
from stepwell.tools import cli

TINY = """
<ir_version: 8, opset_import: ["" : 17]>
tiny (float[N, 3, 32, 32] x, float[16, 3, 3, 3] w, float[16, 10] v) => (float[N, 10] y) {
  c = Conv <pads = [1, 1, 1, 1]> (x, w) r = Relu (c) p = GlobalAveragePool (r) f = Flatten (p)
  g = MatMul (f, v) y = Softmax (g)
}
"""
RELU = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[N, 7] x) => (float[N, 7] y) <float[7] b = {1, 2, 3, 4, 5, 6, 7}> { s = Add (x, b) y = Relu (s) }
"""


def linked(
    *texts: str, exports: tuple[str, ...] = ("run",), open: Mapping[str, int] | None = None
) -> LinkedModule:
    target = target_from("wasm32")
    objects = [read_object(compile_to_object(text, target, optimize=False)) for text in texts]
    return link_module(objects, exports, stack_bytes=1024, open=open)


def sections(module: bytes) -> dict[int, Bytes]:
    """The contents of the sections of a module, but for custom ones."""
    assert module[:8] == MAGIC
    data, found = Bytes(module, 8), dict[int, Bytes]()
    while not data.is_at_end:
        number, contents = data.byte(), data.take(data.unsigned())
        if number:
            found[number] = Bytes(contents)
    return found


# Numbers


@given(st.integers(0, 2**63 - 1))
def test_natural_numbers_are_read_as_they_were_written(value: int) -> None:
    assert Bytes(unsigned(value)).unsigned() == value


@given(st.integers(-(2**62), 2**62 - 1))
def test_integers_are_read_as_they_were_written(value: int) -> None:
    assert Bytes(signed(value)).signed() == value


@pytest.mark.parametrize(
    ("value", "wanted"), [(0, "00"), (63, "3f"), (64, "c000"), (-1, "7f"), (-64, "40"), (-65, "bf7f")]
)
def test_integers_have_the_bytes_of_the_specification(value: int, wanted: str) -> None:
    assert signed(value).hex() == wanted


# Objects and linker

CALLER = "declare i32 @f(i32)\ndefine i32 @run(i32 %x) { %r = call i32 @f(i32 %x) ret i32 %r }"


def test_a_strong_definition_takes_the_place_of_a_weak_one() -> None:
    weak = "define weak i32 @f(i32 %x) { ret i32 1 }"
    strong = "define i32 @f(i32 %x) { ret i32 77 }"
    for texts in ((CALLER, weak, strong), (strong, weak, CALLER)):
        module = linked(*texts)
        assert len(module.functions) == 2
        assert any(signed(77) in body for _, body in module.functions)
    with pytest.raises(ValueError, match="'f' is defined twice"):
        linked(CALLER, strong, strong)


def test_a_function_that_nothing_defines_is_named() -> None:
    with pytest.raises(UndefinedSymbols) as raised:
        linked(CALLER)
    assert raised.value.names == ("f",)


def test_functions_and_constants_that_nothing_reaches_are_left_out() -> None:
    text = """
    @used = constant i32 305419896
    @unused = constant [100 x i32] zeroinitializer
    define i32 @run() { %r = load i32, ptr @used ret i32 %r }
    define ptr @other() { ret ptr @unused }
    """
    module = linked(text)
    assert len(module.functions) == 1 and list(module.exports) == ["run"]
    assert module.segments == ((1024, bytes.fromhex("78563412")),) and module.end == 1088


def test_addresses_of_constants_and_functions_are_filled_in() -> None:
    text = """
    @text = constant [3 x i8] c"abc"
    @table = constant [2 x ptr] [ptr getelementptr (i8, ptr @text, i32 1), ptr @f]
    define i32 @f(i32 %x) { ret i32 %x }
    define ptr @run() { ret ptr @table }
    """
    module = linked(text)
    contents = dict(module.segments)
    (text_at,) = (at for at, data in module.segments if data == b"abc")
    (table,) = (data for data in contents.values() if data != b"abc")
    assert table == (text_at + 1).to_bytes(4, "little") + (1).to_bytes(4, "little")
    assert len(module.elements) == 1


def test_an_open_symbol_is_after_the_constants() -> None:
    text = """
    @m_weights = external constant i8
    @c = constant i32 7
    define ptr @run(ptr %p) { store ptr @c, ptr %p ret ptr @m_weights }
    """
    module = linked(text, open={"m_weights": 64})
    ((_, body),) = module.functions
    assert module.end == 1088 and signed(1088 + 64) in body
    assert heap_base(module, [bytes(65)]) == module.end + 128


@pytest.mark.parametrize("data", [b"", b"\x7fELF", MAGIC + b"\x02\x40\x01", MAGIC + b"\x0a\x80"])
def test_a_damaged_object_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        read_object(data)


# Modules


def test_a_module_imports_its_memory_alone_and_is_small(tmp_path: Path) -> None:
    done = stepwell.export(onnx.parser.parse_model(TINY), tmp_path / "tiny.wasm", target="wasm32")
    data = (tmp_path / "tiny.wasm").read_bytes()
    assert len(data) - done.weight_bytes <= 12 << 10
    assert [path.name for path in done.files] == ["tiny.wasm"] == [p.name for p in tmp_path.iterdir()]
    imports = sections(data)[IMPORTS]
    assert (imports.unsigned(), imports.text(), imports.text(), imports.byte()) == (1, "env", "memory", 2)
    exports = sections(data)[EXPORTS]
    names = list[str]()
    for _ in range(exports.unsigned()):
        names.append(exports.text())
        exports.take(1)
        exports.unsigned()
    assert names == ["tiny_workspace_bytes", "tiny_run", "tiny_message", "__stack_pointer", "__heap_base"]


def test_weights_are_in_the_module_or_beside_it(tmp_path: Path) -> None:
    weights = np.arange(1, 8, dtype=np.float32).tobytes()
    model = onnx.parser.parse_model(RELU)
    stepwell.export(model, tmp_path / "m.wasm", target="wasm32")
    assert weights in (tmp_path / "m.wasm").read_bytes()
    stepwell.export(model, tmp_path / "n.wasm", target="wasm32", weights="file")
    assert weights not in (tmp_path / "n.wasm").read_bytes()
    assert (tmp_path / "n.weights").read_bytes() == weights
    with pytest.raises(StepwellError, match="in the module, or in a file"):
        stepwell.export(model, tmp_path / "e.wasm", target="wasm32", weights="extern")


def test_the_same_bytes_from_model_artifact_and_command(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(RELU), tmp_path / "m.onnx")
    model, artifact = str(tmp_path / "m.onnx"), str(tmp_path / "m.stepwell")
    assert cli.main(["compile", model, "-o", artifact, "--target", "wasm32"]) == 0
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    stepwell.export(tmp_path / "m.onnx", folders[0] / "m.wasm", target="wasm32")
    stepwell.export(artifact, folders[1] / "m.wasm")
    out = str(folders[2] / "m.wasm")
    assert cli.main(["compile", model, "-o", out, "--target", "wasm32"]) == 0
    assert len({(folder / "m.wasm").read_bytes() for folder in folders}) == 1
    assert str(tmp_path).encode() not in (folders[0] / "m.wasm").read_bytes()


@pytest.mark.parametrize(
    ("file", "target"), [("m.so", "wasm32"), ("m.a", "wasm32"), ("m.wasm", "x86-64-v3"), ("m.tgz", "aarch64")]
)
def test_a_suffix_that_is_not_the_targets_is_refused(file: str, target: str, tmp_path: Path) -> None:
    with pytest.raises(StepwellError, match="go with --target wasm32") as raised:
        stepwell.export(onnx.parser.parse_model(RELU), tmp_path / file, target=target)
    assert raised.value.code == "bad-option" and not list(tmp_path.iterdir())


def test_a_model_that_no_memory_has_room_for_is_refused(tmp_path: Path) -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float[40000, 40000] x) => (float[1, 1] y) {
      t = Transpose <perm = [1, 0]> (x) s = MatMul (t, x) y = ReduceMax <keepdims = 1> (s)
    }
    """
    with pytest.raises(StepwellError, match="the memory of a WebAssembly module has 4294967296") as raised:
        stepwell.export(onnx.parser.parse_model(text), tmp_path / "m.wasm", target="wasm32")
    assert raised.value.code == "too-large" and not list(tmp_path.iterdir())


def test_functions_for_host_calls_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StepwellError, match="cannot make host calls"):
        model = onnx.parser.parse_model(RELU)
        stepwell.export(model, tmp_path / "m.wasm", target="wasm32", host_calls="callback")


def test_vectors_and_fused_products_are_used(tmp_path: Path) -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float[8, 32] x, float[32, 16] w) => (float[8, 16] y) { y = MatMul (x, w) }
    """
    code = dict[str, bytes]()
    for target in ("wasm32", "wasm32-relaxed"):
        stepwell.export(onnx.parser.parse_model(text), tmp_path / "m.wasm", target=target)
        code[target] = sections((tmp_path / "m.wasm").read_bytes())[CODE].data
    multiply, fused = bytes.fromhex("fde601"), bytes.fromhex("fd8502")  # f32x4.mul, f32x4.relaxed_madd
    assert code["wasm32"].count(multiply) > 7 and fused not in code["wasm32"]
    assert code["wasm32-relaxed"].count(fused) > 7 and multiply not in code["wasm32-relaxed"]
