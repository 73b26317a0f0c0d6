"""The scripts of `stepwell completion` in the shells that they are for."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stepwell.tools.commands.completion import SHELLS
from tests.support.components import needs_program

pytestmark = pytest.mark.slow
SECONDS = 60
_CONTROL = re.compile(r"\x1b\[[\d;?]*[A-Za-z]|\x1b[=>]|[\x00-\x09\x0b-\x1f]")
"""What moves the cursor of a terminal or changes colours."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with models, and in `bin` the command `stepwell` of this Python."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "stepwell"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m stepwell.tools.cli "$@"\n')
    command.chmod(0o755)
    for name in ("model a.onnx", "model.txt", "other.mlir"):
        (tmp_path / name).touch()
    for shell in SHELLS:
        script = subprocess.run(
            [command, "completion", shell], capture_output=True, text=True, check=True
        ).stdout
        (tmp_path / f"script.{shell}").write_text(script)
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def output(folder: Path, *command: str) -> list[str]:
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


CASES = [
    (["stepwell", "comp"], ["compile", "completion"]),
    (["stepwell", "compile", "--opt-level", ""], ["0", "1", "2", "3"]),
    (["stepwell", "compile", "--disable-pass", "fuse-o"], ["fuse-ops"]),
    (["stepwell", "compile", "mod"], ["model a.onnx"]),
    (["stepwell-opt", "-p", "cse,fuse-o"], ["cse,fuse-ops"]),
]


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_bash(folder: Path, words: list[str], expected: list[str]) -> None:
    bash = needs_program("bash")
    array = " ".join(f"'{word}'" for word in words)
    program = (
        f"source script.bash; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _stepwell;"
        " eval \"printf '%s\\n' ${COMPREPLY[*]}\""
    )
    assert output(folder, bash, "--norc", "-c", program) == expected


def test_bash_registers_both_commands(folder: Path) -> None:
    bash = needs_program("bash")
    assert (
        len(output(folder, bash, "--norc", "-c", "source script.bash; complete -p stepwell stepwell-opt"))
        == 2
    )


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_fish(folder: Path, words: list[str], expected: list[str]) -> None:
    fish = needs_program("fish")
    found = output(folder, fish, "--no-config", "-c", f"source script.fish; complete -C '{' '.join(words)}'")
    assert [line.split("\t")[0].replace("\\ ", " ") for line in found] == expected


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("stepwell comp\t\t", ["compile ", "completion "]),
        ("stepwell compi\t", ["compile "]),
        ("stepwell compile --opt-level \t\t", ["0", "1", "2", "3"]),
        ("stepwell compile mod\t", ["model\\ a.onnx"]),
        ("stepwell-opt -p cse,fuse-o\t", ["cse,fuse-ops "]),
    ],
)
def test_zsh(folder: Path, typed: str, expected: list[str]) -> None:
    """zsh completes in an interactive shell alone, which has a terminal."""
    zsh = needs_program("zsh")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(zsh, [zsh, "-f", "-i"], environment(folder))
    try:
        os.write(
            terminal, b"PS1='ready> '; autoload -U compinit; compinit -u; source script.zsh; echo set\\up\n"
        )
        shown(terminal, ["setup"])
        os.write(terminal, typed.encode())
        shown(terminal, expected)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)


def shown(terminal: int, expected: list[str]) -> None:
    """Wait until a terminal has shown each of some texts."""
    text, end = "", time.monotonic() + SECONDS
    while not all(part in _CONTROL.sub("", text) for part in expected):
        assert time.monotonic() < end, repr(text)
        if select.select([terminal], [], [], 0.2)[0]:
            text += os.read(terminal, 1 << 16).decode(errors="replace")
