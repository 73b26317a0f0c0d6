"""Options, outputs, calls and artifacts that are wrong end in one error; what only looks wrong works."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import load_image, save
from stepwell.runtime.machine.pool import get_pool
from stepwell.runtime.machine.target import TargetWarning
from stepwell.runtime.model import CompiledModel
from stepwell.tools import cli, opt
from stepwell.tools.measure.calibrate import MachineLimits
from stepwell.tools.report import summary_text
from tests.commands import Capture, shown_error, written
from tests.onnx_models import onnx_model

ADD = "g (float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> { y = Add(x, w) }"


@pytest.fixture(scope="module")
def model() -> CompiledModel:
    """`y = x + [1, 2, 3, 4]`, for any number of rows."""
    return stepwell.compile(onnx_model(ADD))


@pytest.fixture
def add(tmp_path: Path) -> Path:
    """The same as a file."""
    return written(tmp_path / "add.onnx", onnx_model(ADD))


# Options of `stepwell`

OPTIONS: list[tuple[list[str], str, str]] = [
    (["--input-shape", "q=1x4"], "extra-input", "inputs: x"),
    (["--input-shape", "x=4"], "shape-mismatch", "input 'x' is [N, 4] in the model, found [4]"),
    (["--input-shape", "x=2x5"], "shape-mismatch", "here 5"),
    (["--input-shape", f"x={2**62}x4"], "too-large", "--> input 'x'"),
    (["--input-shape", f"x={'9' * 30}x4"], "too-large", "--> input 'x'"),
    (["--mcpu", "pentium"], "unknown-target", "the targets are host, x86-64"),
    (["--target", "foo-bar"], "unknown-target", "no code is made for foo-bar"),
    (["--disable-pass", "fuse-ops"], "bad-option", "fuse-ops is a disabled pass"),
    (["--disable-pass", "convert-onnx-to-graph"], "bad-option", "goes on without it: every later pass"),
    (["--threads", "1000"], "bad-option", "threads must be a number from 1 to 256, found 1000"),
    (["--fallback"], "bad-option", "no backend is named"),
    (["--winograd", "fast", "--memory", "low"], "bad-option", "winograd-conv does not run"),
    (["--winograd", "fast", "--opt-level", "1"], "bad-option", "winograd-conv does not run"),
    (["--mcpu", "aarch64", "--target", "x86_64-linux-gnu"], "bad-option", "has the features of aarch64"),
    (["--input-shape", "x=1x4", "--input-shape", "x=2x4"], "bad-option", "one input twice"),
]


@pytest.mark.parametrize(("options", "code", "message"), OPTIONS, ids=lambda value: str(value)[:40])
def test_options_that_do_not_fit(
    options: list[str], code: str, message: str, add: Path, capsys: Capture
) -> None:
    """The legal choices are listed."""
    error = shown_error(capsys, cli.main, "run", add, *options)
    assert f"error[{code}]: " in error and message in error


@pytest.mark.parametrize(
    ("option", "value"),
    [("--threads", "0"), ("--threads", "-1"), ("--threads", "two"), ("--repeat", "0"), ("--seed", "-1")],
)
def test_numbers_that_are_too_small(option: str, value: str, add: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", str(add), option, value])
    assert stop.value.code == 2
    assert f"error[bad-usage]: argument {option}: expected a number from" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--mcpu", "pentium"],
        ["--opt-level", "0"],
        ["--no-cache"],
        ["--disable-pass", "x"],
        ["--backend", "x"],
    ],
)
def test_an_artifact_is_not_compiled_in_another_way(
    options: list[str], model: CompiledModel, tmp_path: Path, capsys: Capture
) -> None:
    model.save(artifact := tmp_path / "m.stepwell")
    error = shown_error(capsys, cli.main, "run", artifact, *options)
    assert f"error[bad-option]: {options[0]} is for compiling, and an artifact is compiled already" in error
    assert cli.main(["run", str(artifact), "--input-shape", "x=3x4"]) == 0


@pytest.mark.parametrize("options", [["--backend", "reference"], ["--opt-level", "0"]])
@pytest.mark.parametrize("level", ["linalg", "loops"])
def test_options_of_level_1_are_refused_below_it(
    level: str, options: list[str], add: Path, tmp_path: Path, capsys: Capture
) -> None:
    assert cli.main(["compile", str(add), "--emit", level, "-o", str(lower := tmp_path / "l.mlir")]) == 0
    assert "applies above level 2 only" in shown_error(capsys, cli.main, "run", lower, *options)


def test_commands_whose_options_exclude_each_other(add: Path, tmp_path: Path, capsys: Capture) -> None:
    error = shown_error(capsys, cli.main, "compile", add, "--print-pipeline", "--dump", tmp_path / "d")
    assert "error[bad-option]: --print-pipeline does not go with --dump" in error
    (tmp_path / "m.mlir").write_text("builtin.module {\n}\n")
    command = [tmp_path / "m.mlir", "--verify-diagnostics", "-o", tmp_path / "o.mlir"]
    assert "error[bad-option]: --verify-diagnostics prints no program" in shown_error(
        capsys, opt.main, *command
    )


def test_a_check_and_a_profile_in_json_go_to_different_places(
    add: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = MachineLimits({1: 100.0}, {1: 10.0}, {1: 40.0})
    monkeypatch.setattr("stepwell.tools.measure.calibrate.machine_limits", lambda: limits)
    assert cli.main(["run", str(add), "--json", "--check"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["threads"] and "y: ok" in printed.err


@pytest.mark.parametrize("command", ["run", "compile", "inspect"])
def test_two_models(command: str, add: Path, capsys: Capture) -> None:
    """As a shell's pattern gives them."""
    with pytest.raises(SystemExit) as stop:
        cli.main([command, str(add), str(add)])
    assert stop.value.code == 2
    assert f"error[bad-usage]: {command} takes one MODEL, found 2" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["x", "x=", "x=axb", "x=-1x4", "=4", "x=1x"])
def test_shapes_that_are_none(text: str, add: Path, capsys: Capture) -> None:
    """Wrong usage: status 2."""
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", str(add), "--input-shape", text])
    assert stop.value.code == 2
    assert f"expected NAME=1x3x224x224, found {text!r}" in capsys.readouterr().err


def test_what_is_compiled_already(add: Path, model: CompiledModel, tmp_path: Path, capsys: Capture) -> None:
    """An artifact is neither compiled again nor checked against a model that it does not have."""
    model.save(artifact := tmp_path / "m.stepwell")
    for command in ("bench", "compile"):
        assert "compiled already" in shown_error(capsys, cli.main, command, artifact)
    capsys.readouterr()
    with pytest.raises(StepwellError, match=r"compiled already[\s\S]*stepwell.load"):
        stepwell.compile(artifact)
    assert "error[no-reference]: " in shown_error(capsys, cli.main, "run", artifact, "--check")
    assert not capsys.readouterr().out  # it did not run first
    assert "error[bad-option]: " in shown_error(capsys, cli.main, "compile", add, "--emit", "obj")


# Writing


@pytest.mark.parametrize("output", ["missing/out", "add.onnx/out", "."])
def test_outputs_into_no_folder(output: str, add: Path, tmp_path: Path, capsys: Capture) -> None:
    """Found before anything is compiled; nothing is left behind."""
    before = sorted(tmp_path.iterdir())
    for command in (
        ["compile", add, "-o"],
        ["compile", add, "--emit", "graph", "-o"],
        ["run", add, "--outputs"],
    ):
        assert "error[cannot-write]: " in shown_error(capsys, cli.main, *command, tmp_path / output)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("output", "options", "message"),
    [
        ("x.stepwell", ["--emit", "graph"], "--emit graph writes IR as text, and -o "),
        ("x.ll", ["--emit", "asm"], "writes assembly"),
        (
            "x.mlir",
            [],
            "name it x.stepwell, or for other programs .o, .a, .so, .dll, .dylib, .c, .wasm, .tgz, .tar; "
            "--emit writes IR",
        ),
    ],
)
def test_outputs_named_as_another_kind(
    output: str, options: list[str], message: str, add: Path, tmp_path: Path, capsys: Capture
) -> None:
    error = shown_error(capsys, cli.main, "compile", add, *options, "-o", tmp_path / output)
    assert "error[bad-option]: " in error and message in error


def test_the_name_of_a_backend_comes_before_the_model(tmp_path: Path, capsys: Capture) -> None:
    """A model that is none is not even read."""
    path = written(tmp_path / "m.onnx", "no model")
    assert "error[unknown-backend]: " in shown_error(capsys, cli.main, "run", path, "--backend", "no-such")


def test_a_dump_into_a_file(add: Path, capsys: Capture) -> None:
    output = add.parent / "o.stepwell"
    error = shown_error(capsys, cli.main, "compile", add, "--dump", add / "levels", "-o", output)
    assert "error[cannot-write]: the folder could not be made" in error


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_disks_that_are_full_or_read_only(
    number: int, add: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier file of the name stays as it was, and no temporary file stays; the cache does without."""
    output = written(tmp_path / "out.stepwell", "as it was")

    def fails(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("pathlib.Path.replace", fails)
    error = shown_error(capsys, cli.main, "compile", add, "-o", output)
    assert f"error[cannot-write]: the file could not be written: {os.strerror(number)}" in error
    assert str(output) in error
    assert output.read_text() == "as it was"
    assert sorted(tmp_path.iterdir()) == [add, output]


# Calls


def test_calls_with_wrong_inputs(model: CompiledModel) -> None:
    """Missing, extra, misshapen and mistyped; the model stays usable."""
    x = np.zeros((2, 4), np.float32)
    product = stepwell.compile(
        onnx_model("g (float[2,4] x, float[2,4] y) => (float[2,4] z) { z = Mul(x, y) }")
    )
    calls: list[tuple[Callable[[], object], str, str]] = [
        (lambda: model(), "missing-input", "input 'x' is missing"),
        (lambda: model(x, x), "extra-input", "the model takes 1 input, found 2"),
        (lambda: model(x, x=x), "extra-input", "input 'x' is given twice"),
        (lambda: model(z=x), "extra-input", "the model has no input 'z'"),
        (lambda: model.run({"x": x, "z": x}), "extra-input", "the model has no input 'z'"),
        (lambda: model(x[0]), "shape-mismatch", "input 'x' must have 2 dimensions, found 1"),
        (lambda: model(np.zeros((2, 5), np.float32)), "shape-mismatch", "dimension 1 must be 4, found 5"),
        (lambda: model(x.astype(np.float64)), "type-mismatch", "must be float32, found float64"),
        (lambda: model([["a", "b", "c", "d"]]), "type-mismatch", "must be an array of float32"),
        (lambda: model([[1.0, 2.0, 3.0, 4.0], [5.0]]), "type-mismatch", "must be an array of float32"),
        (lambda: model({"x": x}), "type-mismatch", "a dictionary goes to `model.run`"),
        (lambda: model.run(x), "type-mismatch", "`run` takes a dictionary of arrays by input name, found"),  # type: ignore
        (lambda: product({"x": x, "y": x}), "missing-input", "a dictionary goes to `model.run`"),
        (lambda: model(None), "type-mismatch", "must be an array of float32"),
    ]
    for call, code, message in calls:
        with pytest.raises(StepwellError) as error:
            call()
        assert error.value.code == code and message in str(error.value)
    np.testing.assert_array_equal(model(x), x + [1, 2, 3, 4])


def test_artifacts_with_names_of_models(model: CompiledModel, add: Path, tmp_path: Path) -> None:
    for call, help in (
        (lambda: stepwell.load(add), "stepwell.compile reads models"),
        (lambda: model.save(tmp_path / "keep.onnx"), "suffix .stepwell"),
    ):
        with pytest.raises(StepwellError, match=rf"unknown-file-type[\s\S]*{help}"):
            call()
    assert list(tmp_path.iterdir()) == [add]


class _OnlyDLPack:
    """An array of another library."""

    def __init__(self, array: np.ndarray[tuple[int, ...], np.dtype[np.float32]]):
        self._array = array

    def __dlpack__(self, **options: object) -> object:
        return self._array.__dlpack__()

    def __dlpack_device__(self) -> object:
        return self._array.__dlpack_device__()


def test_inputs_that_only_look_wrong(model: CompiledModel) -> None:
    """Any layout, byte order, writability, size zero, lists and DLPack give the same result."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    read_only = x.copy()
    read_only.flags.writeable = False
    wide = np.zeros((6, 8), np.float32)
    wide[::2, ::2] = x
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 4)
    for given in (
        np.asfortranarray(x),
        wide[::2, ::2],
        x[::-1][::-1],
        x.astype(">f4"),
        read_only,
        unaligned,
        x.tolist(),
        _OnlyDLPack(x),
    ):
        np.testing.assert_array_equal(model(given), x + [1, 2, 3, 4])
    np.testing.assert_array_equal(x, np.arange(12).reshape(3, 4))
    for empty in (x[:0], np.zeros((0, 4), ">f4"), np.zeros((4, 0), np.float32).T):
        result = model(empty)
        assert isinstance(result, np.ndarray) and result.shape == (0, 4)


def test_shapes_that_the_model_forbids() -> None:
    """Found when it is called: the node is named, and both sizes."""
    broadcast = stepwell.compile(
        onnx_model("g (float[N, 4] x, float[M, 4] z) => (float[P, 4] y) { y = Add(x, z) }")
    )
    three, two = np.ones((3, 4), np.float32), np.ones((2, 4), np.float32)
    np.testing.assert_array_equal(broadcast(three, three), three + three)
    reshape = stepwell.compile(
        onnx_model("g (float[N, 4] x) => (float[6, 4] y) <int64[2] s = {6, 4}> { y = Reshape(x, s) }")
    )
    for call, node, sizes in (
        (lambda: broadcast(three, two), "Add#0", ("3", "2")),
        (lambda: reshape(three), "Reshape#0", ("12", "24")),
    ):
        with pytest.raises(StepwellError) as error:
            call()
        assert error.value.code == "shape-mismatch" and f'node "{node}"' in str(error.value)
        assert all(size in str(error.value) for size in sizes)


def _input_files(folder: Path) -> list[tuple[Path, str, str]]:
    wrong = {"type": np.zeros((2, 4)), "shape": np.zeros((2, 5), np.float32)}
    for name, array in wrong.items():
        np.savez(folder / f"{name}.npz", x=array)
    np.savez(folder / "extra.npz", q=wrong["shape"])
    np.savez(folder / "pickle.npz", x=np.array([object()]))
    np.save(folder / "array.npy", wrong["shape"])
    written(folder / "cut.npz", (folder / "type.npz").read_bytes()[:-40])
    damaged = bytearray((folder / "shape.npz").read_bytes())
    damaged[150] ^= 0xFF
    written(folder / "damaged.npz", bytes(damaged))
    return [
        (folder / "type.npz", "type-mismatch", "must be float32, found float64"),
        (folder / "shape.npz", "shape-mismatch", "dimension 1 must be 4, found 5"),
        (folder / "extra.npz", "extra-input", "the model has no input 'q'"),
        (folder / "pickle.npz", "bad-inputs", "Object arrays cannot be loaded"),
        (folder / "array.npy", "shape-mismatch", "dimension 1 must be 4, found 5"),
        (folder / "cut.npz", "bad-inputs", "not a zip file"),
        (folder / "damaged.npz", "bad-inputs", "damaged.npz"),
        (folder / "none.npz", "no-file", "cannot read the inputs"),
    ]


def test_files_of_inputs(add: Path, tmp_path: Path, capsys: Capture) -> None:
    """`--inputs` that are missing, damaged, or do not fit."""
    for path, code, message in _input_files(tmp_path):
        error = shown_error(capsys, cli.main, "run", add, "--inputs", path)
        assert f"error[{code}]: " in error and message in error


# Artifacts


def test_artifacts_that_are_damaged(model: CompiledModel, tmp_path: Path, capsys: Capture) -> None:
    """Cut off, changed or something else: refused before any code is loaded."""
    model.save(good := tmp_path / "good.stepwell")
    data = good.read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    for content in (
        b"",
        data[:30],
        data[: len(data) // 2],
        data[:-1],
        bytes(flipped),
        b"\0" * 5000,
        b"hello",
    ):
        bad = written(tmp_path / "bad.stepwell", content)
        for command in ("run", "inspect"):
            error = shown_error(capsys, cli.main, command, bad)
            assert "error[bad-artifact]: " in error and "bad.stepwell" in error


@pytest.mark.parametrize(
    ("triple", "features", "lacks"),
    [("", ("not-a-feature",), "not-a-feature"), ("aarch64-unknown-linux-gnu", (), "aarch64")],
)
def test_artifacts_for_another_cpu(
    triple: str, features: tuple[str, ...], lacks: str, model: CompiledModel, tmp_path: Path, capsys: Capture
) -> None:
    """Refused with what this machine lacks; looking into one is no problem."""
    (variant,) = model.image.main.variants
    foreign = variant._replace(triple=triple or variant.triple, features=features)
    entry = model.image.main._replace(variants=(foreign,))
    save(model.image._replace(functions={"main": entry}), path := tmp_path / "foreign.stepwell")
    error = shown_error(capsys, cli.main, "run", path)
    assert "error[wrong-cpu]: " in error and f"needs {lacks}, which this machine lacks" in error
    assert cli.main(["inspect", str(path)]) == 0


def test_a_model_compiles_for_another_cpu(add: Path, tmp_path: Path, capsys: Capture) -> None:
    """Compiling loads nothing, so it needs no such CPU."""
    output = tmp_path / "arm.stepwell"
    assert cli.main(["compile", str(add), "--target", "aarch64-linux-gnu", "-o", str(output)]) == 0
    assert [v.triple for v in load_image(output).main.variants] == ["aarch64-linux-gnu"]
    printed = capsys.readouterr().err
    assert "not a recognized feature" not in printed and "warning" not in printed


@pytest.mark.parametrize(
    "triple",
    ["x86_64-pc-windows-msvc", "x86_64-apple-darwin", "arm64-apple-darwin", "x86_64-unknown-freebsd"],
)
def test_a_target_that_nobody_has_tested(triple: str, add: Path, tmp_path: Path, capsys: Capture) -> None:
    """It says so whenever something is compiled for it; the code is refused here before it is loaded."""
    warning = f"nobody has tested code for {triple}: Linux on x86-64 is tested, Linux on aarch64, armv7"
    for options in (["-o", str(tmp_path / "m.stepwell")], ["--emit", "asm"]):
        with pytest.warns(TargetWarning, match=warning):
            assert cli.main(["compile", str(add), "--target", triple, *options]) == 0
    capsys.readouterr()
    error = shown_error(capsys, cli.main, "run", tmp_path / "m.stepwell")
    assert "error[wrong-cpu]: " in error and triple in error


# As processes


@pytest.mark.parametrize(
    ("module", "argv"),
    [("cli", ["run", "none.onnx"]), ("cli", ["inspect", "none.stepwell"]), ("opt", ["none.mlir"])],
)
def test_exit_status(module: str, argv: list[str], tmp_path: Path) -> None:
    """Status 1, the error on standard error and nothing else."""
    command = [sys.executable, "-m", f"stepwell.tools.{module}", *argv]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[no-file]: ") and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opt_level": 9}, "opt_level must be one of 0, 1, 2, 3, found 9"),
        ({"winograd": "maybe"}, "winograd must be one of auto, fast, off, found 'maybe'"),
        ({"optimise": True}, "there is no option 'optimise'"),
        ({"opt_levl": 1}, r"did you mean opt_level\?"),
        ({"thread": 1}, r"did you mean threads\?"),
        ({"opt_level": "2"}, "opt_level must be one of 0, 1, 2, 3, found '2'"),
        ({"opt_level": True}, "opt_level must be one of 0, 1, 2, 3, found True"),
        ({"mcpu": None}, "mcpu must be a name, found None"),
        ({"target": 3}, "target must be a CPU level, an LLVM triple, a Target or None, found 3"),
        ({"processes": 0}, "processes must be a number from 1 on, or None, found 0"),
        ({"processes": "2"}, "processes must be a number from 1 on, or None, found '2'"),
        ({"profile": "no"}, "profile must be one of True, False, found 'no'"),
        ({"use_cache": 0}, "use_cache must be one of True, False, found 0"),
        ({"fallback": True}, "no backend is named"),
        ({"backends": 3}, "backends must be a list of names, found 3"),
        ({"disabled_passes": [3]}, "disabled_passes must be a list of names"),
        ({"required_passes": "nosuch"}, "no pass is named 'nosuch'"),
        ({"input_shapes": {"x": "1x4"}}, "input_shapes must be shapes by name"),
        ({"input_shapes": [("x", (1, 4))]}, "input_shapes must be shapes by name"),
        ({"input_shapes": {"x": 4}}, "input_shapes must be shapes by name"),
        ({"options": {"opt_level": 1}}, "options must be CompileOptions"),
    ],
)
def test_options_of_the_function(options: dict[str, object], message: str) -> None:
    with pytest.raises(StepwellError, match=message) as error:
        stepwell.compile(onnx_model(ADD), **options)  # pyright: ignore[reportArgumentType]
    assert error.value.code in ("bad-option", "unknown-pass")


THREADS = [0, -1, "2", True, 2.0, 1000]


@pytest.mark.parametrize("threads", THREADS)
def test_numbers_of_threads_that_are_none(threads: object, model: CompiledModel, tmp_path: Path) -> None:
    model.save(artifact := tmp_path / "m.stepwell")
    message = f"threads must be a number from 1 to 256, found {threads!r}"
    for use in (
        lambda: stepwell.compile("no-such.onnx", threads=threads),  # pyright: ignore[reportArgumentType]
        lambda: stepwell.load(artifact, threads=threads),  # pyright: ignore[reportArgumentType]
        lambda: setattr(model, "threads", threads),
    ):
        with pytest.raises(StepwellError, match=message) as error:
            use()
        assert error.value.code == "bad-option"


def test_the_number_of_threads_can_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later calls run on the pool of that number, and give the same bits."""
    pools: list[int] = []
    monkeypatch.setattr(
        "stepwell.runtime.model.get_pool", lambda code, n: pools.append(n) or get_pool(code, n)
    )
    model = stepwell.compile(onnx_model(ADD), threads=2)
    x = np.ones((1 << 18, 4), np.float32)
    expected = model(x)
    for threads, used in ((3, [2, 3]), (1, [2, 3])):
        model.threads = threads
        assert model.threads == threads and pools == used
        np.testing.assert_array_equal(model(x), expected)


@pytest.mark.parametrize("model", [3, None, ["m.onnx"]])
def test_what_is_no_model(model: object) -> None:
    with pytest.raises(StepwellError, match="a model is a path, the bytes of an ONNX file"):
        stepwell.compile(model)  # pyright: ignore[reportArgumentType]


def test_warnings_show_the_line_of_the_caller() -> None:
    with pytest.warns(UserWarning, match="not in the order of their use") as found:
        stepwell.compile(onnx_model("g (float[4] x) => (float[4] y) { y = Relu(b) b = Neg(x) }"))
    assert found[0].filename == __file__


def test_operators_that_nobody_has_and_sizes_that_do_not_fit() -> None:
    """The name that may have been meant; both sizes, and whose they are."""
    with pytest.raises(StepwellError, match=r'node "Reluu#0"; did you mean Relu\?'):
        stepwell.compile(onnx_model("g (float[N] x) => (float[N] y) { y = Reluu(x) }"))
    model = stepwell.compile(onnx_model("g (float[N, 3] x, int64[2] s) => (float y) { y = Expand(x, s) }"))
    message = r"the input x and in the shape s must be equal, or one of them 1, in dimension 0 of 2"
    with pytest.raises(StepwellError, match=rf"{message}[\s\S]*found 4 and 2"):
        model(np.ones((2, 3), np.float32), np.array([4, 3]))


def test_a_long_size_of_the_arena_is_told_at_1(model: CompiledModel) -> None:
    long = "64 * ((" + " + ".join(f"{i} * N{i} * M{i}" for i in range(2, 12)) + ") ceildiv 64)"
    entry = model.image.main
    longer = entry._replace(interface=entry.interface._replace(arena_bytes=Dim.of(long)))
    image = model.image._replace(functions={"main": longer})
    assert "arena 128 B where each open size is 1" in summary_text(image)


def test_an_op_that_nothing_lowers(tmp_path: Path, capsys: Capture) -> None:
    """It is the conversion of the dialect that is missing, not a pass of level 1."""
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %y = arith.negf %x : tensor<4xf32>\n"
    path = written(tmp_path / "m.mlir", f"{text}  func.return %y : tensor<4xf32>\n}}\n")
    error = shown_error(capsys, cli.main, "run", path)
    assert "nothing has lowered arith.negf: no conversion leads from `arith`" in error
    assert "m.mlir:2:3" in error and "fuse-ops" not in error


def test_outputs_that_are_declared_as_something_else(tmp_path: Path, capsys: Capture) -> None:
    """A type is an error that names both; a shape is a remark, for the nodes decide."""
    message = "output 'y' is declared as int32, and its node makes float32"
    with pytest.raises(StepwellError, match=message):
        stepwell.compile(onnx_model("g (float[N, 3] x) => (int32[N, 3] y) { y = Relu(x) }"))
    graph = "g (float[N, 3] x) => (float[N, 4] y, float[A, B] z) { y = Relu(x) z = Neg(x) }"
    path = written(tmp_path / "m.onnx", onnx_model(graph))
    assert cli.main(["run", str(path), "--remarks"]) == 0
    on_run = capsys.readouterr().err
    assert cli.main(["compile", str(path), "--remarks", "--emit", "graph"]) == 0
    printed = capsys.readouterr().err
    assert set(re.findall("remark: output.*", printed)) == set(re.findall("remark: output.*", on_run))
    assert "output 'y' is declared as" in printed and "output 'z'" not in printed
