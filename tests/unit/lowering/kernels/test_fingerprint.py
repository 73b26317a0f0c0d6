"""The fingerprint of the compiler: other after any change of a source, and only then."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from stepwell.lowering.kernels import fingerprint, source_digest


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of two folders with a source each, in place of ours."""
    for name in ("passes/a.py", "lowering/kernels/b.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("x = 1\n")
    monkeypatch.setattr(fingerprint, "__file__", str(tmp_path / "lowering" / "kernels" / "fingerprint.py"))
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    fingerprint.compiler_fingerprint.cache_clear()


def found() -> str:
    forget()
    return fingerprint.compiler_fingerprint(("passes", "lowering"))


def test_each_change_of_a_source_is_another_fingerprint(package: Path) -> None:
    """Of its text, its name and its place, deep in a folder too; a file that is no source changes nothing."""
    prints = [found()]
    (package / "passes" / "notes.txt").write_text("no source")
    assert found() == prints[0]
    (package / "lowering" / "kernels" / "b.py").write_text("x = 2\n")
    prints.append(found())
    (package / "passes" / "a.py").rename(package / "passes" / "c.py")
    prints.append(found())
    (package / "passes" / "c.py").rename(package / "lowering" / "c.py")
    prints.append(found())
    (package / "lowering" / "empty.py").touch()
    prints.append(found())
    assert len({*prints}) == len(prints)


def test_the_end_of_a_source_is_not_the_begin_of_the_next(package: Path) -> None:
    first, second = package / "passes" / "a.py", package / "passes" / "b.py"
    first.write_text("x = 1")
    second.write_text("")
    before = found()
    first.write_text("")
    second.write_text("x = 1")
    assert found() != before


def _age(*files: Path) -> None:
    """Let sources be of an hour ago, for all that tells it."""
    for file in files:
        os.utime(file, (1e9, 1e9))


@pytest.fixture
def read(package: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of sources that were read, in a package with a place for bytecode, whose files are old."""
    counts: list[int] = []
    original = source_digest._digest_of  # pyright: ignore[reportPrivateUsage]

    def counted(package: str, sources: list[object]) -> bytes:
        counts.append(len(sources))
        return original(package, sources)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(source_digest, "_digest_of", counted)
    monkeypatch.setattr(source_digest, "_SETTLED_NS", -3_600_000_000_000)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for name in ("passes", "lowering"):
        Path(cache_from_source(str(package / name / "a.py"))).parent.mkdir(parents=True)
    return counts


def test_sources_are_read_once_while_none_changes(package: Path, read: list[int]) -> None:
    """The digest is kept beside bytecode; a change of the same size and time stamp of contents is found."""
    _age(package / "passes" / "a.py")
    first = found()
    assert found() == first
    assert read == [1, 1]
    (package / "passes" / "a.py").write_text("x = 2\n")
    _age(package / "passes" / "a.py")
    second = found()
    assert second != first
    assert read == [1, 1, 1]
    assert found() == second
    assert read == [1, 1, 1]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"state": 1}', "\xff", "null"])
def test_a_damaged_file_is_read_as_none(package: Path, read: list[int], text: str) -> None:
    first = found()
    for kept in package.rglob("*.json"):
        kept.write_text(text)
    assert found() == first
    assert read == [1] * 4


def test_a_source_that_was_written_just_now_is_not_kept(
    package: Path, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its next change may have the same time stamp."""
    monkeypatch.setattr(source_digest, "_SETTLED_NS", 3_600_000_000_000)
    assert found() == found()
    assert read == [1] * 4


def test_nothing_is_kept_without_bytecode(
    package: Path, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert found() == found()
    assert read == [1] * 4
    assert not list(package.rglob("*.json"))
