"""Imports go one way: every import statement of the package against the table of the design."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

# Folder -> the folders of ours that it may import, itself aside.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "runtime": frozenset(),
    "dialects": frozenset({"runtime"}),
    "frontend": frozenset({"dialects", "runtime"}),
    "patterns": frozenset({"dialects", "runtime"}),
    "passes": frozenset({"patterns", "dialects", "runtime"}),
    "lowering": frozenset({"passes", "patterns", "dialects", "runtime"}),
    "lowering/backends": frozenset({"lowering", "passes", "patterns", "dialects", "runtime", "frontend"}),
    "tools": frozenset({"frontend", "lowering", "passes", "patterns", "dialects", "runtime"}),
}
# All that `runtime/` may import from elsewhere: an artifact loads and runs with it alone.
RUNTIME_NEEDS = frozenset({"numpy", "ml_dtypes", "llvmlite", "platformdirs"})
# The rows that may import onnx.
ONNX_USERS = ("frontend", "tools", "lowering/backends")


@dataclass(frozen=True)
class Import:
    """An import statement: where it stands, and the module it names."""

    file: Path
    line: int
    module: str

    @property
    def layer(self) -> str:
        """The row of the table that the file belongs to."""
        path = self.file.relative_to(ROOT).as_posix()
        return max((row for row in MAY_IMPORT if path.startswith(f"{row}/")), key=len)

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.module}"


def imports_of(file: Path) -> Iterator[Import]:
    """The imports of a file, those under `TYPE_CHECKING` and inside functions too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            # `from stepwell import passes` names a folder, `from stepwell.passes import x` has it in the
            # module.
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "stepwell" else [module]
            for name in names:
                yield Import(file, node.lineno, name)


ALL_IMPORTS = [
    found
    for folder in MAY_IMPORT
    if "/" not in folder
    for file in sorted((ROOT / folder).rglob("*.py"))
    for found in imports_of(file)
]


def report(imports: list[Import]) -> str:
    return "\n".join(map(str, imports))


def test_folders_import_only_those_below_them() -> None:
    wrong = [
        found
        for found in ALL_IMPORTS
        if found.module.startswith("stepwell.")
        and (target := found.module.split(".")[1]) in MAY_IMPORT
        and target != found.layer.split("/")[0]
        and target not in MAY_IMPORT[found.layer]
    ]
    assert not wrong, report(wrong)


def test_imports_are_absolute_and_name_the_package() -> None:
    wrong = [i for i in ALL_IMPORTS if i.module.startswith(".") or i.module.split(".")[0] in MAY_IMPORT]
    assert not wrong, report(wrong)


def test_runtime_needs_neither_the_ir_nor_the_model_format() -> None:
    allowed = RUNTIME_NEEDS | sys.stdlib_module_names | {"stepwell"}
    wrong = [i for i in ALL_IMPORTS if i.layer == "runtime" and i.module.split(".")[0] not in allowed]
    assert not wrong, report(wrong)


def test_onnx_is_imported_at_the_edges_only() -> None:
    wrong = [i for i in ALL_IMPORTS if i.module.split(".")[0] == "onnx" and i.layer not in ONNX_USERS]
    assert not wrong, report(wrong)


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(file.relative_to(ROOT))
        for folder in (*MAY_IMPORT, "tests", "benchmarks", "examples")
        for file in (ROOT / folder).rglob("*.py")
        if not ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert not silent, silent


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        ("import stepwell", ("numpy", "xdsl", "onnx", "llvmlite", "logging")),
        ("import stepwell.runtime.model", ("xdsl", "onnx")),
    ],
)
def test_light_imports_stay_light(statement: str, forbidden: tuple[str, ...]) -> None:
    code = f"import sys; {statement}; print([m for m in {forbidden!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
