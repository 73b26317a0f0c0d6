"""The page of docs about models of transformers, and of optimum where that is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.frontends.functions.pages import run_page
from tests.support.components import needs

needs("torch")
needs("transformers")
pytestmark = pytest.mark.slow


def test_the_page_of_docs_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with_optimum = find_spec("optimum") is not None and find_spec("optimum.onnxruntime") is not None
    run_page("hugging-face.md", tmp_path, least=2, what="" if with_optimum else "transformers")
