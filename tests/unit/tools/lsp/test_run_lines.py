"""`RUN` lines in an editor: commands run in this process, on outputs that are no files."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.tools.lsp.transform import run_test

TEXT = """\
// CHECK: graph.relu
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""
LINE = "stepwell-opt %s -p simplify-expr | filecheck %s"


@pytest.fixture(params=[False, True], ids=["first", "again"])
def handled(request: pytest.FixtureRequest) -> Iterator[None]:
    """Handlers of fatal signals as a new process has them, and as the second command of it."""
    was_enabled = faulthandler.is_enabled()
    (faulthandler.enable if request.param else faulthandler.disable)()
    yield
    (faulthandler.enable if was_enabled else faulthandler.disable)()


@pytest.mark.usefixtures("handled")
def test_a_line_passes_and_fails_by_its_text(tmp_path: Path) -> None:
    assert run_test(TEXT, str(tmp_path / "f.mlir"), LINE, trusted=False)["status"] == 0
    failed = run_test(TEXT.replace("CHECK: graph.relu", "CHECK: graph.exp"), "f.mlir", LINE, trusted=False)
    assert failed["status"] == 1 and "internal" not in str(failed["output"])
