"""The fingerprint of the compiler: other after any change of a source, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepwell.lowering.kernels import fingerprint


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
    fingerprint._digest_of_sources.cache_clear()  # pyright: ignore[reportPrivateUsage]


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
