"""The notebook of the docs, run by a kernel of Jupyter: all cells, and what they show."""

# pyright: reportMissingImports=false

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.components import needs

pytestmark = pytest.mark.slow
NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebooks" / "stepwell.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The code cells after a run in an empty folder."""
    nbformat, nbclient = needs("nbformat"), needs("nbclient")
    needs("ipykernel")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = str(tmp_path_factory.mktemp("notebook"))
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": folder}})
    client.execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cells: list[Any], beginning: str) -> str:
    """What the cell that begins so shows as HTML, which is all that it shows."""
    (cell,) = [cell for cell in cells if cell.source.startswith(beginning)]
    (output,) = cell.outputs
    return output.data["text/html"]


def test_programs_are_coloured_text(cells: list[Any]) -> None:
    assert "<details" in shown(cells, "module = stepwell.read")
    assert "linalg.generic" in shown(cells, "stepwell.show")
    assert "graph.multiply" not in shown(cells, "%%mlir")


def test_models_and_pages_show_themselves(cells: list[Any]) -> None:
    assert "<table" in shown(cells, "compiled = stepwell.compile")
    assert '<iframe sandbox="allow-scripts"' in shown(cells, "stepwell.explore")


def test_nothing_is_said_on_standard_error(cells: list[Any]) -> None:
    said = [output.text for cell in cells for output in cell.outputs if output.get("name") == "stderr"]
    assert not said
