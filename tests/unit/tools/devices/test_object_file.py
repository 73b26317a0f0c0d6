"""`stepwell compile --emit obj` for GPUs."""

import os
from pathlib import Path

import pytest

from stepwell.runtime.devices.rocm.code_object import read_code_object
from stepwell.tools import cli
from tests.support.components import needs_program
from tests.support.devices.gpu_models import small_model

ELF_MACHINE = slice(18, 20)
NVIDIA, AMD = (190).to_bytes(2, "little"), (224).to_bytes(2, "little")


def emitted(tmp_path: Path, target: str) -> tuple[int, Path]:
    """The exit status of the command, and the file that it writes."""
    model, _ = small_model("elementwise", tmp_path)
    output = tmp_path / "kernels.o"
    return cli.main(["compile", str(model), "--target", target, "--emit", "obj", "-o", str(output)]), output


def assembler(folder: Path, lines: str) -> None:
    """A program in place of NVIDIA's."""
    (path := folder / "ptxas").write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)


def test_cubins_are_made_by_the_assembler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assembler(tmp_path, 'echo "$1" > "$3"; cat "$4" >> "$3"')
    status, output = emitted(tmp_path, "cuda{arch=sm_90}")
    arch, *ptx = output.read_text().splitlines()
    assert status == 0 and arch == "-arch=sm_90" and ".target sm_90" in ptx


def test_what_the_assembler_says_is_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assembler(tmp_path, 'echo "line 5; error: no such thing" >&2; exit 255')
    status, output = emitted(tmp_path, "cuda")
    said = capsys.readouterr().err
    assert status == 1 and not output.exists()
    assert "error[driver]: ptxas refuses the code: line 5; error: no such thing" in said


def test_without_the_assembler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The host's code was written, as if it were the GPU's."""
    monkeypatch.setenv("PATH", str(tmp_path))
    status, output = emitted(tmp_path, "cuda")
    assert status == 1 and not output.exists() and "error[missing-package]" in capsys.readouterr().err


def test_code_objects_of_amd(tmp_path: Path) -> None:
    status, output = emitted(tmp_path, "rocm{arch=gfx1100}")
    data = output.read_bytes()
    assert status == 0 and data[ELF_MACHINE] == AMD and read_code_object(data).arch == "gfx1100"


def test_drivers_that_take_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, output = emitted(tmp_path, "webgpu")
    assert status == 1 and not output.exists()
    assert "error[bad-option]: --emit obj is for a CPU, cuda or rocm" in capsys.readouterr().err


def test_nvidias_own_assembler(tmp_path: Path) -> None:
    needs_program("ptxas")
    status, output = emitted(tmp_path, "cuda")
    assert status == 0 and output.read_bytes()[ELF_MACHINE] == NVIDIA


def test_kernels_name_their_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the gpu level too, whose text is read again."""
    model, _ = small_model("softmax", tmp_path)
    output = tmp_path / "kernels.mlir"
    command = ["compile", str(model), "--target", "cuda", "--emit", "gpu"]
    assert cli.main([*command, "-o", str(output)]) == cli.main(command) == 0
    text = output.read_text()
    assert text in capsys.readouterr().out
    before, _, _ = text.partition("gpu.func @")
    assert before.splitlines()[-2].strip() == '// softmax.onnx: node "Softmax#0"'
    assert cli.main(["compile", str(output), "--target", "cuda", "--emit", "asm"]) == 0
