"""The one list of public names: lazy, typed, documented, used by a script that runs."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

import stepwell
from stepwell.tools.driver.options import CompileKeywords, CompileOptions
from tests.support.forks import Result, forked
from tests.unit.tools.api import user_script

ROOT = Path(stepwell.__file__).resolve().parents[1]
INIT = ast.parse((ROOT / "stepwell" / "__init__.py").read_text(encoding="utf-8"))


def typed_names() -> set[str]:
    """The names that type checkers see: those imported under `TYPE_CHECKING`."""
    conditions = [node for node in INIT.body if isinstance(node, ast.If)]
    guarded = next(node for node in conditions if "TYPE_CHECKING" in ast.unparse(node.test))
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def test_the_list_is_one() -> None:
    lazy = next(node for node in INIT.body if isinstance(node, ast.Assign) and "_LAZY" in ast.unparse(node))
    names = set(ast.literal_eval(lazy.value))
    assert typed_names() == names == set(stepwell.__all__)
    assert stepwell.__all__ == sorted(stepwell.__all__)


@pytest.mark.parametrize("name", stepwell.__all__)
def test_each_name_is_there_and_on_the_page(name: str) -> None:
    assert getattr(stepwell, name) is getattr(stepwell, name)
    page = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
    assert re.search(rf"\b(?:stepwell|sw)\.{name}\b|`{name}`", page)


def test_other_names_are_no_attributes() -> None:
    with pytest.raises(AttributeError, match="module 'stepwell' has no attribute 'modul'"):
        _ = stepwell.modul  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]


def test_a_users_script_uses_every_name_and_runs(tmp_path: Path) -> None:
    """In a fork, because what it registers stays in the process."""
    text = Path(user_script.__file__).read_text(encoding="utf-8")
    used = set(re.findall(r"\bsw\.(\w+)", text))
    assert used == set(stepwell.__all__)

    def run() -> Result:
        user_script.script(tmp_path)
        return 0, "", ""

    status, _, errors = forked(run)
    assert status == 0, errors


def test_keywords_of_compile_are_its_options() -> None:
    assert list(get_type_hints(CompileKeywords)) == [option.name for option in fields(CompileOptions)]


ALIASES = {"stepwell:mlir", "stepwell.onnxruntime.capi.onnxruntime_pybind11_state"}
"""Other names of public modules."""
PUBLIC_MODULES = {
    "stepwell",
    "stepwell.backend",
    "stepwell.dialects.types",
    "stepwell.frontend.formats",
    "stepwell.jax",
    "stepwell.lowering.backends.npu",
    "stepwell.mlir",
    "stepwell.onnxruntime",
    "stepwell.sklearn",
    "stepwell.torch",
    "stepwell.lowering.backends",
    "stepwell.lowering.device_part",
    "stepwell.lowering.interpret",
    "stepwell.passes",
    "stepwell.patterns",
    "stepwell.plugin",
    "stepwell.runtime.devices.base",
    "stepwell.runtime.devices.part",
    "stepwell.runtime.devices.run_part",
    "stepwell.script",
    "stepwell.tools.highlight",
}


def imported_by(text: str) -> set[str]:
    """The names that Python blocks of a page import from Stepwell."""
    blocks = re.findall(r"^```python[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for node in (node for block in blocks for node in ast.walk(ast.parse(block))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            is_package = node.module == "stepwell"
            found |= {f"stepwell:{alias.name}" for alias in node.names} if is_package else {node.module}
    return {name for name in found if name.split(":")[0].split(".")[0] == "stepwell"}


def test_pages_import_public_names_only() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages}
    public = (
        PUBLIC_MODULES
        | {"stepwell:mlir", "stepwell.onnxruntime.capi.onnxruntime_pybind11_state"}
        | {f"stepwell:{name}" for name in stepwell.__all__}
    )
    private = {page: imported_by(text) - public for page, text in texts.items()}
    assert not {page: names for page, names in private.items() if names}
    assert not [page for page, text in texts.items() if "StepwellContext" in text]


def test_the_page_names_all_public_modules() -> None:
    page = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
    listed = {"stepwell"} | {f"stepwell.{name}" for name in stepwell.__all__}
    assert all(f"`{name}`" in page for name in PUBLIC_MODULES - listed)
