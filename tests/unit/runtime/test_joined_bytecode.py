"""Joined bytecode: modules are the same with it, and a changed, moved or damaged file is left aside."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

import pytest

from stepwell.runtime.files import joined_bytecode
from stepwell.runtime.files.joined_bytecode import JoinedBytecode

NAME = "joined_example"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package that is imported as usual, with a module and a package in it."""
    root = tmp_path / NAME
    (root / "inner").mkdir(parents=True)
    (root / "__init__.py").write_text("")
    (root / "plain.py").write_text('"""Text."""\nVALUE = 6 * 7\n')
    (root / "inner" / "__init__.py").write_text(
        "from joined_example import plain\nDOUBLE = 2 * plain.VALUE\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(joined_bytecode, "MANY_MODULES", 2)
    import_module(f"{NAME}.inner")
    yield root
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def kept(folder: Path) -> JoinedBytecode:
    """The bytecode of a package, written and read again."""
    first = JoinedBytecode(NAME, str(folder))
    for name in ("plain", "inner"):
        assert first.spec(f"{NAME}.{name}", [str(folder)]) is None
    first.keep()
    return JoinedBytecode(NAME, str(folder))


def loaded(joined: JoinedBytecode, name: str, folder: Path) -> ModuleType | None:
    """A module made from joined bytecode, if it is there."""
    spec = joined.spec(f"{NAME}.{name}", [str(folder)])
    if spec is None or spec.loader is None:
        return None
    spec.loader.exec_module(module := module_from_spec(spec))
    return module


def test_modules_are_those_that_python_imports(folder: Path) -> None:
    joined = kept(folder)
    plain, inner = loaded(joined, "plain", folder), loaded(joined, "inner", folder)
    assert plain is not None and inner is not None and joined.missed == 0
    assert (plain.VALUE, plain.__doc__, inner.DOUBLE) == (42, "Text.", 84)
    for made, name in ((plain, "plain"), (inner, "inner")):
        usual = sys.modules[f"{NAME}.{name}"]
        for attribute in ("__file__", "__cached__", "__package__", "__name__"):
            assert getattr(made, attribute) == getattr(usual, attribute)
    assert list(inner.__path__) == list(sys.modules[f"{NAME}.inner"].__path__)


@pytest.mark.parametrize("change", ["text", "time", "gone", "folder", "unknown"])
def test_a_module_that_is_not_as_it_was_is_imported_as_usual(change: str, folder: Path) -> None:
    joined, plain = kept(folder), folder / "plain.py"
    before = plain.stat()
    match change:
        case "text":  # as long as before, and not younger
            plain.write_text('"""Text."""\nVALUE = 7 * 7\n')
            os.utime(plain, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        case "time":
            os.utime(plain, ns=(before.st_atime_ns, before.st_mtime_ns - 1))
        case "gone":
            plain.unlink()
        case _:
            pass
    place = folder.parent if change != "folder" else folder.parent / "elsewhere"
    name = "strange" if change == "unknown" else "plain"
    assert joined.spec(f"{NAME}.{name}", [str(place / NAME)]) is None and joined.missed == 1
    assert loaded(joined, "inner", folder) is not None


def test_a_source_that_changed_after_its_import_is_not_kept_as_it_was(folder: Path) -> None:
    joined = kept(folder)
    spec = joined.spec(f"{NAME}.plain", [str(folder)])
    assert spec is not None
    sys.modules[f"{NAME}.plain"] = module_from_spec(spec)
    (folder / "plain.py").write_text("VALUE = 1\n")
    joined.missed = 2
    joined.keep()
    assert loaded(JoinedBytecode(NAME, str(folder)), "plain", folder) is None


@pytest.mark.parametrize("damage", [b"", b"\0" * 40, b"short", "cut"])
def test_a_damaged_file_is_as_none(damage: bytes | str, folder: Path) -> None:
    path = Path(kept(folder).path)
    path.write_bytes(path.read_bytes()[:20] if isinstance(damage, str) else damage)
    joined = JoinedBytecode(NAME, str(folder))
    assert loaded(joined, "plain", folder) is None
    joined.missed = 2
    joined.keep()
    assert loaded(JoinedBytecode(NAME, str(folder)), "plain", folder) is not None


@pytest.mark.parametrize("reason", ["few", "flag", "folder"])
def test_a_file_is_written_where_bytecode_may_be(
    reason: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = JoinedBytecode(NAME, str(folder))
    joined.missed = 1 if reason == "few" else 2
    if reason == "flag":
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    if reason == "folder":
        joined.path = str(folder / "plain.py" / "x.joined")
    joined.keep()
    assert not list(folder.rglob("*.joined*"))


def test_texts_are_compiled_once(folder: Path) -> None:
    first, text = JoinedBytecode(NAME, str(folder)), "def f(x):\n return x + 1"
    assert first.code_of(text) is first.code_of(text) and first.missed == 1
    first.missed = 2
    first.keep()
    second, names = JoinedBytecode(NAME, str(folder)), {}
    exec(second.code_of(text), names)
    assert second.missed == 0 and names["f"](1) == 2


def test_the_finder_comes_before_folders_and_after_others() -> None:
    finders = [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path]
    assert finders.index("BuiltinImporter") < finders.index("_Finder") < finders.index("PathFinder")
    joined_bytecode.install()
    assert finders.count("_Finder") == 1 and len(sys.meta_path) == len(finders)
    assert sys.modules["stepwell.runtime"].__spec__ is not None
