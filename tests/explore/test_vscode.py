"""The folder for VS Code: the grammar by vscode-tmgrammar-test, the client by node, the package by vsce."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from stepwell.tools.lsp.grammar import GRAMMAR
from tests.support.components import needs_program

pytestmark = pytest.mark.slow
FOLDER = GRAMMAR.parents[1]
HERE = Path(__file__).parent / "vscode"


def run(*command: str | Path, folder: Path = HERE) -> None:
    """Run a program that succeeds."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_grammar_colours_tokens() -> None:
    run(needs_program("vscode-tmgrammar-test"), "-g", GRAMMAR, HERE / "grammar.test.mlir")


def test_the_client_starts_the_server_and_shows_results() -> None:
    run(needs_program("node"), HERE / "client.test.js", FOLDER / "client.js")


def test_the_folder_is_a_package(tmp_path: Path) -> None:
    vsce = needs_program("vsce")
    copy = shutil.copytree(FOLDER, tmp_path / "vscode")
    run(vsce, "package", "--no-dependencies", "--skip-license", "--allow-missing-repository", folder=copy)
    (package,) = copy.glob("*.vsix")
    names = {name.removeprefix("extension/") for name in ZipFile(package).namelist()}
    assert {"package.json", "client.js", "language-configuration.json"} <= names
    assert "syntaxes/mlir.tmLanguage.json" in names
