"""Exports that cannot be: one clear error, and nothing half written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.lowering.export.elf_parts import EntryCode, elf_parts
from stepwell.lowering.export.entry_object import pool_object
from stepwell.lowering.export.files import ExportOptions, export_image
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import Variant
from stepwell.runtime.link.code import ObjectFiles
from stepwell.runtime.machine.target import host_target
from stepwell.tools import cli

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'
ADD = "m (float[N, 4] x) => (float[N, 4] y) <float[4] b = {1, 2, 3, 4}> { y = Add (x, b) }"
RANDOM = "m (float[N, 4] x) => (float[N, 4] y) { r = RandomNormalLike (x) y = Add (x, r) }"


def model(text: str = ADD) -> onnx.ModelProto:
    return onnx.parser.parse_model(HEAD + text)


def refused(folder: Path, name: str, source: object = None, **options: object) -> StepwellError:
    """The error of an export, after which the folder is as before."""
    before = sorted(folder.iterdir())
    with pytest.raises(StepwellError) as raised:
        stepwell.export(model() if source is None else source, folder / name, **options)  # pyright: ignore
    assert sorted(folder.iterdir()) == before
    return raised.value


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("m (string[2] x) => (string[2] y) { y = Identity (x) }", "input 'x' is string"),
        ("m (seq(float[N]) s, int64 i) => (float[N] y) { y = SequenceAt (s, i) }", "input 's' is seq"),
    ],
)
@pytest.mark.sample(2)
@pytest.mark.parametrize("suffix", ["so", "c"])
def test_values_that_c_has_no_type_for(text: str, about: str, suffix: str, tmp_path: Path) -> None:
    error = refused(tmp_path, f"m.{suffix}", model(text))
    assert error.code == "unsupported-interface" and about in error.message


def test_undefined_functions_are_refused() -> None:
    target = host_target()
    text = "declare void @nobody()\ndefine i32 @main(ptr %a) { call void @nobody() ret i32 0 }"
    entry = compile_to_object("define i32 @m_run() { ret i32 0 }", target, optimize=False)
    variant = Variant(
        target.triple, (), ObjectFiles((compile_to_object(text, target, optimize=False),)), "main"
    )
    with pytest.raises(StepwellError, match=r"undefined-symbol.*the code calls nobody"):
        elf_parts("m", [EntryCode("m", variant, entry)], [pool_object(target)], (), "")


def test_weights_that_code_cannot_reach(tmp_path: Path) -> None:
    image = stepwell.compile(model()).image
    huge = np.broadcast_to(np.float32(0), (3 << 28,))
    with pytest.raises(StepwellError, match="too-large.*take 3,221,225,472 bytes") as raised:
        export_image(image._replace(weights=(huge,)), tmp_path / "m.so", ExportOptions())
    assert "--weights file" in raised.value.render() and not list(tmp_path.iterdir())


def test_a_model_cannot_have_the_name_of_a_header(tmp_path: Path) -> None:
    assert refused(tmp_path, "stepwell_threads.so").code == "bad-name"


@pytest.mark.sample(8)
@pytest.mark.parametrize("suffix", ["so", "tar", "c", "wasm"])
def test_a_disk_that_is_full(suffix: str, tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "m.onnx")
    target = ["--target", "wasm32"] if suffix == "wasm" else []
    arguments = ["compile", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "out" / f"m.{suffix}"), *target]
    (tmp_path / "out").mkdir()
    code = f"""
import resource, signal, sys
from stepwell.tools import cli
from stepwell.runtime.files import whole_files
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
make, left = whole_files.os.fdopen, [0]
def limited(*arguments):
    sys.dont_write_bytecode = True  # Python would leave half a file of it behind
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, resource.RLIM_INFINITY))
    return make(*arguments)
whole_files.os.fdopen = limited
sys.exit(cli.main({arguments!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "error[cannot-write]" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr and not list((tmp_path / "out").iterdir())


@pytest.mark.filterwarnings("ignore::stepwell.runtime.machine.target.TargetWarning")
def test_an_emulator_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(model(), tmp_path / "m.onnx")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(["run", str(tmp_path / "m.onnx"), "--emulate", "--mcpu", "aarch64"]) == 1
    shown = capsys.readouterr().err
    assert "error[missing-emulator]: aarch64 is emulated by qemu-aarch64" in shown and "qemu-user" in shown
    for mcpu, message in (
        ("cortex-m4", "cortex-m4 is emulated by qemu-system-arm"),
        ("x86-64-windows", "no emulator runs programs for"),
    ):
        assert cli.main(["run", str(tmp_path / "m.onnx"), "--emulate", "--mcpu", mcpu]) == 1
        assert f"error[missing-emulator]: {message}" in capsys.readouterr().err
    assert cli.main(["run", str(tmp_path / "m.onnx"), "--emulate", "--target", "cuda"]) == 1
    shown = capsys.readouterr().err
    assert "error[bad-option]: an emulator runs code of a CPU" in shown and "ptx-interpreter" in shown
    assert cli.main(["run", str(tmp_path / "m.a"), "--emulate"]) == 1
    shown = capsys.readouterr().err
    assert "error[bad-option]: of exported files an emulator runs libraries" in shown and "m.a" in shown


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("code", "package"),
    [
        ("from stepwell.tools import cli; sys.exit(cli.main(['rpc', 'serve']))", "stepwell[rpc]"),
        ("from stepwell import ffi; ffi.names()", "stepwell[ffi]"),
        (
            "from stepwell.tools import cli; sys.exit(cli.main(['serve', 'm.onnx', '--port', '0']))",
            "stepwell[serve]",
        ),
    ],
)
def test_a_package_that_is_not_there(
    code: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPWELL_CONFIG", str(tmp_path))  # without a certificate
    onnx.save(model(), tmp_path / "m.onnx")
    names = ("cryptography", "tvm_ffi", "uvicorn")
    absent = f"import sys\nsys.modules.update(dict.fromkeys({names}))\n"
    done = subprocess.run(
        [sys.executable, "-c", absent + code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and "error[missing-package]" in done.stderr and package in done.stderr


def test_weights_of_more_than_a_gigabyte_are_in_a_file_unless_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stepwell.lowering.export.files.MAX_DEFAULT_BYTES", 100)
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[{n}] x) => (float[{n}] y) {{ y = Add (x, w) }}'
    for name, n in (("small", 2), ("large", 26)):
        model = onnx.parser.parse_model(text.format(n=n))
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(n, dtype=np.float32), "w"))
        onnx.save(model, tmp_path / f"{name}.onnx")
        for suffix in ("so", "c"):
            stepwell.export(model, tmp_path / f"{name}_{suffix}.{suffix}")
            assert (tmp_path / f"{name}_{suffix}.weights").exists() == (n == 26)
        assert cli.main(["compile", str(tmp_path / f"{name}.onnx"), "-o", str(tmp_path / f"{name}.a")]) == 0
        assert (tmp_path / f"{name}.weights").exists() == (n == 26)
    stepwell.export(tmp_path / "large.onnx", tmp_path / "asked.so", weights="embed")
    assert not (tmp_path / "asked.weights").exists()
