"""
The layout of CONTRIBUTING.md, over every import of the tree.

- A file that bears a pass's name contains that pass and nothing that another folder imports.
- Every other file below `passes/` is a helper of its folder and of the folders inside it.
- A conversion is a folder below `lowering/`; the rest of the tree imports its `__init__` alone.
- No folder has more than 30 files, or 50 where all are op families of one dialect.
- Neither folders nor files import each other in a circle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath

from stepwell.passes.registry import PASSES
from tests.support.imports import LAYERS, ROOT, all_imports

# Below `passes/`: what runs passes, and the facts about IR that several folders need.
LIBRARIES = (
    "passes/__init__.py",
    "passes/analysis/",
    "passes/base.py",
    "passes/context.py",
    "passes/elsewhere.py",
    "passes/graph_pipeline.py",
    "passes/instruments.py",
    "passes/manager.py",
    "passes/pass_limit.py",
    "passes/pipelines.py",
    "passes/registry.py",
    "passes/reproducer.py",
    "passes/text_diff.py",
    "passes/trace_events.py",
    "passes/trace_format.py",
)
# Folders of `lowering/` that other folders import file by file.
OPEN_FOLDERS = ("lowering/backends/", "lowering/kernels/")
MOST_FILES = 30
OP_FAMILIES = ("dialects/graph", "tests/filecheck/graph/ops")
MOST_OP_FAMILIES = 50
# Pairs of files whose circle exists for type annotations alone, and why it stays.
ANNOTATION_CYCLES: Mapping[frozenset[str], str] = {
    frozenset({"patterns/edges.py", "patterns/nodes.py"}): "a pattern has edges, an edge joins patterns",
    frozenset({"passes/graph/fusion/groups.py", "passes/graph/fusion/data_flow.py"}): (
        "the data flow is over groups, a group is of its nodes"
    ),
    frozenset(
        f"lowering/emit_llvm/{name}.py" for name in ("function", "instructions", "intrinsics", "module")
    ): ("instructions are written into the function and module that they are part of"),
    frozenset({"passes/graph/kernels/registered.py", "passes/graph/kernels/templates.py"}): (
        "the registry is of templates, a decorator registers them"
    ),
    frozenset({"frontend/te/expressions.py", "frontend/te/tensors.py"}): (
        "an expression reads tensors, a tensor is computed by expressions"
    ),
}


@dataclass(frozen=True)
class Import:
    """An imported name: the importing file, the file imported from, both relative to the root."""

    source: str
    target: str
    name: str
    for_types: bool

    def __str__(self) -> str:
        return f"{self.source} imports {self.name} from {self.target}"


@cache
def file_of(module: str) -> str | None:
    """The file of a module of ours, relative to the root; None for another package's."""
    package, *parts = module.split(".")
    if package != "stepwell" or not parts:
        return None
    path = ROOT.joinpath(*parts)
    found = next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.is_file()), None)
    return found.relative_to(ROOT).as_posix() if found else None


@cache
def imports_of_ours() -> list[Import]:
    """The names that our files import from our files."""
    return [
        Import(found.file, target, found.name, found.for_types)
        for found in all_imports()
        if (target := file_of(f"{found.module}.{found.name}") or file_of(found.module)) is not None
    ]


def folder_of(file: str) -> str:
    return PurePosixPath(file).parent.as_posix()


def is_pass_file(file: str) -> bool:
    return PurePosixPath(file).stem.replace("_", "-") in PASSES


def report(imports: list[Import]) -> str:
    return "\n".join(map(str, imports))


def test_each_pass_is_found_by_its_name() -> None:
    """The file of a pass bears its name; a conversion's folder bears its name without `convert-`."""
    lost = [
        f"{name}: {entry.place}"
        for name, entry in PASSES.items()
        if name.replace("-", "_") != (module := entry.place.split(":")[0].split(".")[-1])
        and name.removeprefix("convert-").replace("-", "_") != module
    ]
    assert not lost, lost


def test_pass_files_give_nothing_to_other_folders() -> None:
    wrong = [
        found
        for found in imports_of_ours()
        if is_pass_file(found.target)
        and found.target.startswith("passes/")
        and folder_of(found.source) != folder_of(found.target)
    ]
    assert not wrong, report(wrong)


def test_helpers_serve_their_folder_only() -> None:
    wrong = [
        found
        for found in imports_of_ours()
        if found.target.startswith("passes/")
        and not found.target.startswith(LIBRARIES)
        and not is_pass_file(found.target)
        and not f"{found.source}".startswith(f"{folder_of(found.target)}/")
    ]
    assert not wrong, report(wrong)


def test_conversions_are_imported_by_their_entry() -> None:
    def conversion_of(file: str) -> str | None:
        parts = file.split("/")
        inside = parts[0] == "lowering" and len(parts) > 2 and not file.startswith(OPEN_FOLDERS)
        return "/".join(parts[:2]) + "/" if inside else None

    wrong = [
        found
        for found in imports_of_ours()
        if (conversion := conversion_of(found.target)) is not None
        and not found.source.startswith(conversion)
        and found.target != f"{conversion}__init__.py"
    ]
    assert not wrong, report(wrong)


def test_folders_are_small() -> None:
    def most(folder: str) -> int:
        return MOST_OP_FAMILIES if folder in OP_FAMILIES else MOST_FILES

    roots = [ROOT / name for name in (*LAYERS, "tests", "docs", "benchmarks", "examples")]
    folders = [folder for root in roots for folder in (root, *root.rglob("*")) if folder.is_dir()]
    sizes = {
        folder.relative_to(ROOT).as_posix(): sum(
            file.is_file() and file.suffix in (".py", ".mlir", ".md") for file in folder.iterdir()
        )
        for folder in folders
        if "__pycache__" not in folder.parts
    }
    large = {folder: size for folder, size in sizes.items() if size > most(folder)}
    assert not large, large


def circles(place: Callable[[str], str], imports: list[Import]) -> list[str]:
    """A circle among the places of files, as the places on it; a folder and one inside it form none."""
    needs: dict[str, set[str]] = {}
    for found in imports:
        source, target = place(found.source), place(found.target)
        nested = f"{source}/".startswith(f"{target}/") or f"{target}/".startswith(f"{source}/")
        if not nested:
            needs.setdefault(source, set()).add(target)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return [str(place) for place in error.args[1]]
    return []


def _between_files(imports: list[Import]) -> list[Import]:
    """Imports between files proper: a package's `__init__` imports what it exports, and is no user of it."""
    return [
        i for i in imports if not i.source.endswith("__init__.py") and not i.target.endswith("__init__.py")
    ]


def test_files_import_each_other_in_no_circle() -> None:
    needed = [found for found in _between_files(imports_of_ours()) if not found.for_types]
    assert not (found := circles(lambda file: file, needed)), found


def test_circles_of_annotations_are_listed() -> None:
    listed = {file: files for files in ANNOTATION_CYCLES for file in files}
    others = [
        found
        for found in _between_files(imports_of_ours())
        if not (found.for_types and found.target in listed.get(found.source, ()))
    ]
    assert not (found := circles(lambda file: file, others)), found


def test_folders_import_each_other_in_no_circle() -> None:
    assert not (found := circles(folder_of, imports_of_ours())), found
