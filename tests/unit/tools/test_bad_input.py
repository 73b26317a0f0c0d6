"""Models and IR that are wrong end in one error on the command line: code, place, what to do, status 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from onnx import ModelProto, TensorProto
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from stepwell.passes.graph.simplify.dead_code_elimination import DeadCodeEliminationPass
from stepwell.tools import cli, opt
from tests.commands import Capture, shown_error, shown_everywhere, written
from tests.onnx_models import onnx_model

GRAPH = "g (float[N, 4] x) => (float[N, 4] y)"
ADD = f"{GRAPH} <float[4] w = {{1, 2, 3, 4}}> {{ y = Add(x, w) }}"
MAIN = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>"


# Files


def test_a_missing_file_has_the_help_of_a_similar_name(tmp_path: Path, capsys: Capture) -> None:
    """Models, IR, artifacts and inputs; a folder that does not exist, or has nothing similar, has no help."""
    for name in ("resnet.onnx", "resnet.mlir", "resnet.stepwell"):
        (tmp_path / name).touch()
        assert cli.main(["run", str(tmp_path / name.replace("resnet", "resnt"))]) == 1
        assert f"help: did you mean {name}?\n" in capsys.readouterr().err
    for missing in (tmp_path / "unlike.onnx", tmp_path / "none" / "resnet.onnx"):
        assert cli.main(["run", str(missing)]) == 1
        assert "did you mean" not in capsys.readouterr().err


FILES: list[tuple[str, bytes | str | None, str, str]] = [
    ("m.onnx", b"\xff" * 200, "invalid-model", "the file is no ONNX model"),
    ("m.onnx", b"", "invalid-model", "the file is empty"),
    ("m.onnx", onnx_model(ADD).SerializeToString()[:-3], "invalid-model", "or is cut off"),
    ("m.onnx", None, "no-file", "cannot read the model: No such file or directory"),
    ("m.mlir", None, "no-file", "cannot read the IR: No such file or directory"),
    ("m.mlir", b"\xff\xfe", "syntax", "expected IR as UTF-8 text, found byte 0xff at 0"),
    ("m.mlir", "", "syntax", "there is nothing to read"),
    ("m.txt", "hello", "unknown-file-type", "expected a file that ends in .onnx, .stablehlo"),
]


@pytest.mark.parametrize(("name", "content", "code", "message"), FILES)
def test_files_that_are_not_what_they_say(
    name: str, content: bytes | str | None, code: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    """Every command names the file."""
    path = tmp_path / name
    if content is not None:
        written(path, content)
    for command in (["compile", "-o", str(tmp_path / "out.stepwell")], ["run"], ["inspect"]):
        error = shown_error(capsys, cli.main, *command, path)
        assert f"error[{code}]: " in error and message in error and name in error
    if path.suffix in (".onnx", ".mlir"):
        assert f"error[{code}]: " in shown_error(capsys, opt.main, path)
    assert not (tmp_path / "out.stepwell").exists()


def test_a_missing_artifact(tmp_path: Path, capsys: Capture) -> None:
    """The same code as for any file that cannot be opened."""
    for command in ("run", "inspect"):
        error = shown_error(capsys, cli.main, command, tmp_path / "none.stepwell")
        assert "error[no-file]: cannot read the artifact" in error and "none.stepwell" in error


# Models

MODELS: list[tuple[str, str, str]] = [
    (f"{GRAPH} {{ y = other.Gelu(x) }}", "unknown-opset", 'm.onnx: node "Gelu#0"'),
    (f"{GRAPH} {{ y = Gelu(x) }}", "unknown-opset", 'm.onnx: node "Gelu#0"'),
    (f"{GRAPH} {{ a = Add(x, b) b = Relu(a) y = Relu(x) }}", "cycle", "Add#0 <- Relu#1 <- Add#0"),
    (f"{GRAPH} {{ y = Relu(z) }}", "undefined-value", "'z'"),
    (f"{GRAPH} {{ y = Relu(x) y = Tanh(x) }}", "invalid-model", "'y' is defined twice"),
    (
        f"g (float[{2**40}, {2**40}] x) => (float[A] y) {{ y = Relu(x) }}",
        "too-large",
        f"a tensor of shape [{2**40}, {2**40}] takes {2**82} bytes",
    ),
]


@pytest.mark.parametrize(("graph", "code", "message"), MODELS, ids=[code for _, code, _ in MODELS])
def test_models_that_are_wrong(graph: str, code: str, message: str, tmp_path: Path, capsys: Capture) -> None:
    """What the importer refuses (test_frontend_errors.py has it all) shows on the command line."""
    error = shown_everywhere(capsys, written(tmp_path / "m.onnx", onnx_model(graph)))
    assert f"error[{code}]: " in error and message in error


def _weight(model: ModelProto) -> TensorProto:
    return model.graph.initializer[0]


def _set_dim(model: ModelProto, size: int) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = size


EDITS: list[tuple[Callable[[ModelProto], object], str, str]] = [
    (
        lambda m: _weight(m).CopyFrom(TensorProto(name="w", dims=[4], data_type=1, raw_data=b"\0" * 12)),
        "invalid-model",
        "takes 16 bytes, found 12",
    ),
    (lambda m: setattr(m.opset_import[0], "version", 99), "unknown-opset", "opset 99 of domain ai.onnx"),
    (lambda m: _set_dim(m, 2**62), "too-large", f"[N, {2**62}]"),
]


@pytest.mark.parametrize(("edit", "code", "message"), EDITS)
def test_fields_that_are_wrong(
    edit: Callable[[ModelProto], object], code: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    """Bytes that do not fit, opsets and dimensions that cannot be."""
    model = onnx_model(ADD)
    edit(model)
    error = shown_everywhere(capsys, written(tmp_path / "m.onnx", model))
    assert f"error[{code}]: " in error and message in error and "--> m.onnx" in error


def _with_external_weight(location: str) -> ModelProto:
    model = onnx_model(ADD)
    tensor = TensorProto(name="w", dims=[4], data_type=1, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    _weight(model).CopyFrom(tensor)
    return model


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("missing.bin", "cannot read external data 'missing.bin': No such file"),
        ("../outside.bin", "is no path inside the model's folder"),
        ("/etc/hostname", "is no path inside the model's folder"),
        ("link.bin", "leads out of the model's folder through a link"),
        ("short.bin", "bytes 0 to 16 are outside of 'short.bin', which has 4"),
    ],
)
def test_external_data_that_is_not_there(
    location: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    """Nothing outside the model's folder is opened, by no path and by no link."""
    folder = tmp_path / "model"
    folder.mkdir()
    written(tmp_path / "outside.bin", bytes(16))
    (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    written(folder / "short.bin", bytes(4))
    error = shown_everywhere(capsys, written(folder / "m.onnx", _with_external_weight(location)))
    assert "error[external-data]: " in error and message in error and "m.onnx" in error


def test_unsupported_operators_are_listed_at_once(tmp_path: Path, capsys: Capture) -> None:
    """By their names in ONNX, each with its nodes; `inspect` lists the same, and says so by its status."""
    model = onnx_model(
        "g (float[1, 8, 4] boxes, float[1, 1, 8] scores, string[4] s) => (int64[A, 3] y, string[4] t)"
        "{ b = Relu(boxes) i = acme.Boxes(b, scores) y = Abs(i) t = acme.Words(s)"
        " u = acme.Mix(b) v = Sigmoid(u) }",
        header=', "acme" : 1',
    )
    path = written(tmp_path / "m.onnx", model)
    names = ("acme.Boxes", "acme.Words", "acme.Mix")
    for command in ("compile", "run"):
        error = shown_error(capsys, cli.main, command, path)
        assert error.startswith("error[unsupported-op]: no conversion for ")
        for name in names:
            assert name in error and f'node "{name.removeprefix("acme.")}#' in error
        assert "Relu" not in error and "Sigmoid" not in error
        assert "--load PLUGIN.py" in error
    assert cli.main(["inspect", str(path)]) == 1
    printed = capsys.readouterr().out
    assert "missing: not supported" in printed
    rows = [line.split() for line in printed.splitlines()]
    assert {name for _, name, *how in (r for r in rows if len(r) > 2) if how == ["missing"]} == {*names}


def test_inputs_without_rank_need_a_shape(tmp_path: Path, capsys: Capture) -> None:
    """The model does not say it, so the user must."""
    model = onnx_model(f"{GRAPH} {{ y = Relu(x) }}")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    path = written(tmp_path / "m.onnx", model)
    error = shown_error(capsys, cli.main, "run", path)
    assert "error[unsupported-dynamic-rank]: " in error and "--input-shape x=" in error
    assert cli.main(["run", str(path), "--input-shape", "x=2x4"]) == 0
    assert "y: float32[2, 4]" in capsys.readouterr().out


@pytest.mark.parametrize("type", ["string[4]", "seq(float[N])"])
def test_inputs_that_are_no_numbers(type: str, tmp_path: Path, capsys: Capture) -> None:
    """`inspect` shows them, `run` has no values for them."""
    path = written(tmp_path / "m.onnx", onnx_model(f"g ({type} x) => ({type} y) {{ y = Identity(x) }}"))
    error = shown_error(capsys, cli.main, "run", path)
    assert "error[bad-inputs]: input 'x' is " in error
    assert cli.main(["inspect", str(path)]) == 0
    assert "x: string[4]" in (shown := capsys.readouterr().out) or "x: seq(f32)" in shown
    assert "error[" in shown_error(capsys, cli.main, "run", path, "--input-shape", "x=1x2")


SIZES: list[tuple[str, str, str]] = [
    (f"<int64[2] s = {{{2**62}, 4}}> {{ y = Expand(x, s) }}", "too-large", "Expand#0"),
    ("<int64[2] s = {-3, 4}> { y = Expand(x, s) }", "bad-shape", "Expand#0"),
    (
        f"<int64[2] s = {{{2**30}, {2**30}}}> {{ c = ConstantOfShape(s) y = Add(x, c) }}",
        "too-large",
        "Shape#0",
    ),
    ("<int64[2] s = {-3, 4}> { c = ConstantOfShape(s) y = Add(x, c) }", "bad-shape", "ConstantOfShape#0"),
    (f"<int64[1] s = {{{2**62}}}> {{ y = Tile(x, s) }}", "too-large", "Tile#0"),
    ("<int64[2] s = {-4, -4}> { y = Pad(x, s) }", "bad-shape", "Pad#0"),
    (
        f"<int64 a = {{0}}, int64 b = {{{2**62}}}, int64 c = {{1}}> {{ y = Range(a, b, c) }}",
        "too-large",
        "Range#0",
    ),
    ("<int64 a = {0}, int64 b = {9}, int64 c = {0}> { y = Range(a, b, c) }", "invalid-model", "Range#0"),
]


@pytest.mark.parametrize(("body", "code", "node"), SIZES)
def test_sizes_that_cannot_be(body: str, code: str, node: str, tmp_path: Path, capsys: Capture) -> None:
    """Negative and overflowing sizes that nodes ask for, found before anything is allocated."""
    path = written(tmp_path / "m.onnx", onnx_model(f"g (float[4] x) => (float[A] y) {body}"))
    error = shown_error(capsys, cli.main, "run", path)
    assert f"error[{code}]: " in error and node in error


def test_more_memory_than_there_is(tmp_path: Path, capsys: Capture) -> None:
    """Sizes that are legal, on this machine not possible."""
    path = written(
        tmp_path / "m.onnx", onnx_model(f"g (float[{2**43}] x) => (float[{2**43}] y) {{ y = Relu(x) }}")
    )
    assert "error[out-of-memory]: " in shown_error(capsys, cli.main, "run", path)


# IR as text

IR: list[tuple[str, str, str]] = [
    (f"{MAIN} {{\n  func.return %x tensor<4xf32>\n}}", "syntax", "m.mlir:2:"),
    (f"{MAIN} {{\n  func.return %x : tensor<4xf32>\n", "syntax", "unexpected end of the text"),
    (f"{MAIN} {{\n  func.return %z : tensor<4xf32>\n}}", "syntax", "values used but not defined: [%z]"),
    (f"{MAIN} {{\n  %y = graph.no %x : tensor<4xf32>\n}}", "syntax", "no dialect has an op graph.no"),
    (
        f'{MAIN} {{\n  %y = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<5xf32>\n'
        "  func.return %x : tensor<4xf32>\n}",
        "invalid-ir",
        "graph.relu: result type must be tensor<4xf32>, found tensor<5xf32>",
    ),
    (f"{MAIN} {{ func.return %x : tensor<4xf32> }} " * 2, "invalid-ir", 'Redefinition of symbol "main"'),
    ("func.func @f() {\n  func.return\n}", "no-main", "functions: @f"),
    ("func.func private @main(tensor<4xf32>) -> tensor<4xf32>", "no-main", "@main with a body"),
    (
        'func.func @main(%x: !graph.hole<"x">) -> !graph.hole<"x"> {\n  func.return %x : !graph.hole<"x">\n}',
        "incomplete-types",
        "%x of func.func",
    ),
    ("func.func @main(%x: i32) -> i32 {\n  func.return %x : i32\n}", "bad-main", "found i32"),
    (f"{MAIN} {{\n}}", "bad-main", "ends in func.return"),
    (
        f"{MAIN} {{\n  func.return %x : tensor<4xf32>\n}}\nfunc.func private @k(%x: memref<4xf32>, "
        "%y: memref<4xf32>) attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {\n"
        "  func.return\n}",
        "bad-main",
        "the kernel @k on buffers",
    ),
    (
        MAIN.replace("<4", f"<{2**70}") + " {\n  func.return %x : " + f"tensor<{2**70}xf32>\n}}",
        "too-large",
        "1:1",
    ),
]


@pytest.mark.parametrize(("text", "code", "message"), IR)
def test_ir_that_is_wrong(text: str, code: str, message: str, tmp_path: Path, capsys: Capture) -> None:
    """Syntax errors show their line; what verifies may still be no program."""
    path = written(tmp_path / "m.mlir", text)
    error = shown_error(capsys, cli.main, "run", path)
    assert f"error[{code}]: " in error and message in error and "m.mlir:" in error
    assert shown_error(capsys, cli.main, "compile", path, "-o", tmp_path / "o.stepwell") == error
    if code in ("syntax", "invalid-ir"):
        assert shown_error(capsys, opt.main, path) == error


def test_of_a_long_line_only_the_place_shows(tmp_path: Path, capsys: Capture) -> None:
    """A file can be one line of megabytes."""
    error = shown_error(capsys, opt.main, written(tmp_path / "m.mlir", "module {} " + "(" * 100_000))
    assert max(map(len, error.splitlines())) < 400


PIPELINES: list[tuple[list[str], str, str]] = [
    (["-p", "no-such-pass"], "unknown-pass", "no pass is named 'no-such-pass'"),
    (["-p", "fuse-ops{depth=1}"], "bad-option", "options of fuse-ops: max-ops"),
    (["-p", "fuse-ops{max-ops=many}"], "bad-option", "fuse-ops"),
    (["-p", "set-input-shapes"], "bad-option", 'requires argument "shapes"'),
    (["-p", "fuse-ops{"], "bad-pipeline", "pass-pipeline:1:10"),
    (["-p", "match-patterns{file=a;b}"], "bad-pipeline", "needs quotes"),
    (["-p", "match-patterns{fil=a}"], "bad-option", "file: str = '', table: str = ''"),
    (["--disable-pass", "no-such-pass"], "unknown-pass", "no-such-pass"),
    (
        ["--config", "fuse-ops.max-op=1"],
        "bad-config",
        "did you mean fuse-ops.max-ops? `stepwell-opt --list-con",
    ),
    (["-p", "choose-schedules{mcpu}"], "bad-option", "mcpu needs a value: mcpu=VALUE"),
    (["--load", "no-such-plugin.py"], "bad-plugin", "no such file"),
    (["--load", "json"], "bad-plugin", "and registers no derivative, predicate or callback"),
    (["-o", "no-such-folder/out.mlir"], "cannot-write", "no-such-folder"),
    (["--snapshots", __file__, "-p", "cse"], "cannot-write", "the folder could not be made"),
]


@pytest.mark.parametrize(
    ("options", "code", "message"), [case for case in PIPELINES if case[0][0] == "-p"][:5]
)
def test_pipelines_to_validate(
    options: list[str], code: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    path = written(tmp_path / "m.mlir", f"{MAIN} {{\n  func.return %x : tensor<4xf32>\n}}")
    error = shown_error(capsys, cli.main, "validate", path, *options)
    assert f"error[{code}]: " in error and message in error


def test_a_page_is_no_model(tmp_path: Path, capsys: Capture) -> None:
    """Each command that needs IR says by the name that there is none."""
    path = written(tmp_path / "m.html", "<!DOCTYPE html>")
    for command in ("debug", "explore", "validate", "bisect"):
        assert "error[unknown-file-type]: " in shown_error(capsys, cli.main, command, path)


@pytest.mark.parametrize(("options", "code", "message"), PIPELINES, ids=lambda value: str(value))
def test_options_of_stepwell_opt(
    options: list[str], code: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    """Passes, their options, plugins and outputs."""
    path = written(tmp_path / "m.mlir", f"{MAIN} {{\n  func.return %x : tensor<4xf32>\n}}")
    error = shown_error(capsys, opt.main, path, *options)
    assert f"error[{code}]: " in error and message in error


def test_an_empty_file(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path / "m.mlir", "\n")
    assert "there is nothing to read" in shown_error(capsys, opt.main, path)


def leave_without_end(self: object, ctx: Context, op: ModuleOp) -> None:
    """Take the end of a function away."""
    (func,) = (inner for inner in op.walk() if isinstance(inner, FuncOp))
    func.body.block.erase_op(cast(Operation, func.body.block.last_op))
    func.body.block.add_op(FuncOp("main", ((), ())))


def test_what_passes_leave_invalid_names_them(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of plugins are verified at once: test_plugin_faults.py."""
    monkeypatch.setattr(DeadCodeEliminationPass, "apply", leave_without_end)
    path = written(tmp_path / "m.mlir", f"{MAIN} {{\n  func.return %x : tensor<4xf32>\n}}")
    error = shown_error(capsys, opt.main, path, "-p", "dead-code-elimination")
    assert "after dead-code-elimination; --verify-each says after which pass" in error
