"""The language server in Neovim, without a screen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.components import needs, needs_program

pytestmark = pytest.mark.slow
needs("pygls")

TEXT = """\
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  %y = graph.add %s, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
  func.return %s : tensor<4xf32>
}
"""


def test_definition_and_diagnostics(tmp_path: Path) -> None:
    nvim = needs_program("nvim")
    (tmp_path / "test.mlir").write_text(TEXT)
    command = f"{sys.executable} -m stepwell.tools.cli lsp"
    environment = {**os.environ, "SERVER_COMMAND": command, "HOME": str(tmp_path)}
    script = Path(__file__).with_name("init.lua")
    done = subprocess.run(
        [nvim, "--headless", "--clean", "-u", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    first, second, *_ = (tmp_path / "out.txt").read_text().splitlines()
    assert first == "defined in line 2", done.stderr
    assert second.startswith("graph.add: result type must be tensor<4xf32>")
