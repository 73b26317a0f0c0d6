"""Debug files: the lines of instructions in an artifact and an object file; no instruction changes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import stepwell
from stepwell.runtime.files.artifact import load_image
from stepwell.runtime.image import ModelImage
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.link.elf import read_object
from stepwell.runtime.machine.target import TargetDescription, host_target
from stepwell.tools import cli
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.collect import collect
from tests.commands import shown_error
from tests.support.components import needs_program
from tests.support.samples import whole

DIGITS = Path(__file__).resolve().parents[3] / "examples" / "digits.onnx"


def code_of(image: ModelImage) -> LinkedCode:
    """The code of a model's only variant."""
    code = image.main.variants[0].code
    assert isinstance(code, LinkedCode)
    return code


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The digits model without and with lines, the second with the caches of the first."""
    folder = tmp_path_factory.mktemp("artifacts")
    paths = folder / "plain.stepwell", folder / "lined.stepwell"
    stepwell.compile(DIGITS).save(paths[0])
    stepwell.compile(DIGITS, debug_info=True).save(paths[1])
    return paths


def test_instructions_are_the_same_and_keys_are_others(artifacts: tuple[Path, Path]):
    plain, lined = (code_of(load_image(path)) for path in artifacts)
    assert plain.contents == lined.contents
    assert plain.debug == b"" and b".debug_line" in lined.debug
    assert not {name for name in plain.functions if name != "main"} & {*lined.functions}


def test_a_target_without_lines_has_the_description_of_before():
    assert "debug_info" not in host_target().to_json()
    lined = TargetDescription.from_json({**host_target().to_json(), "debug_info": True})
    assert lined.debug_info and TargetDescription.from_json(lined.to_json()) == lined


def test_lines_are_those_of_the_llvm_level(artifacts: tuple[Path, Path], tmp_path: Path):
    tool = needs_program("addr2line")
    code = code_of(load_image(artifacts[1]))
    file = tmp_path / "lines"
    file.write_bytes(code.debug)
    data: Any = collect(DIGITS, CompileOptions(profile=True, debug_info=True), run=False)
    texts = {k["symbol"]: next(s["text"] for s in k["steps"][::-1] if "text" in s) for k in data["kernels"]}
    found: dict[str, set[int]] = {}
    for name, (offset, size) in code.functions.items():
        places = [hex(offset + i) for i in range(0, size, 4)]
        done = subprocess.run([tool, "-e", file, *places], capture_output=True, text=True, check=True)
        rows = [row.split()[0].rpartition(":") for row in done.stdout.splitlines()]
        assert {row[0] for row in rows} == {f"{name.partition('.')[0]}.mlir"}
        found.setdefault(name.partition(".")[0], set()).update(
            int(n) for *_, n in rows if n not in ("0", "?")
        )
    assert found.keys() == {*texts, "main"} and len(found["main"]) > 3
    for symbol, text in texts.items():
        lines = text.split("\n")
        assert len(found[symbol]) > 10
        assert all("llvm." in lines[number - 1] for number in found[symbol])


def test_inspect_writes_the_debug_file(
    artifacts: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "digits.debug"
    assert cli.main(["inspect", str(artifacts[1]), "--debug-file", str(path)]) == 0
    assert path.read_bytes() == code_of(load_image(artifacts[1])).debug
    capsys.readouterr()
    error = shown_error(capsys, cli.main, "inspect", artifacts[0], "--debug-file", path)
    assert error.startswith("error[bad-option]: the artifact has no debug file")


@pytest.mark.parametrize("mcpu", [pytest.param("host", marks=whole), "aarch64"])
def test_an_object_file_has_lines(tmp_path: Path, mcpu: str):
    paths = tmp_path / "plain.o", tmp_path / "lined.o"
    for path, options in zip(paths, ([], ["--debug-info"]), strict=True):
        command = ["compile", str(DIGITS), "--emit", "obj", "--mcpu", mcpu, "-o", str(path), *options]
        assert cli.main(command) == 0
    plain, lined = (read_object(path.read_bytes()) for path in paths)
    assert {section.name for section in lined.debug} >= {".debug_info", ".debug_line"} and not plain.debug
    code = [[s.contents for s in file.sections if s.is_code] for file in (plain, lined)]
    assert code[0] == code[1]


def test_code_for_aarch64_has_a_debug_file(tmp_path: Path):
    path = tmp_path / "arm.stepwell"
    assert cli.main(["compile", str(DIGITS), "--mcpu", "aarch64", "--debug-info", "-o", str(path)]) == 0
    assert b".debug_line" in code_of(load_image(path)).debug


def test_a_debug_file_larger_than_the_code_is_refused(artifacts: tuple[Path, Path]):
    code = code_of(load_image(artifacts[1]))
    claim = {**code.to_json(), "debug": len(code.contents) + len(code.debug) + 1}
    with pytest.raises(ValueError, match="larger than the code"):
        LinkedCode.from_json(claim, code.contents + code.debug)
    assert LinkedCode.from_json(code.to_json(), code.contents + code.debug) == code
