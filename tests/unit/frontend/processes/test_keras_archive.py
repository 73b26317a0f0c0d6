"""Keras archives: the errors of the process that reads them, with a stand-in for Keras."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import stepwell

KERAS = """
import os, sys
__version__ = "{version}"

class saving:
    @staticmethod
    def load_model(path, compile, safe_mode):
        assert safe_mode and not compile
        print("noise of a framework")
        {body}
"""


def read(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str, version: str = "3.14.0") -> str:
    """The error for an archive, where keras is a module whose loader has a body."""
    (folder / "keras.py").write_text(KERAS.format(version=version, body=body))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    monkeypatch.syspath_prepend(folder)
    archive = folder / "m.keras"
    archive.write_bytes(b"PK")
    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.read(archive)
    return caught.value.render()


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("body", "version", "message"),
    [
        ("raise ValueError('Requested the deserialization of a `Lambda` layer')", "3.14.0", "unsafe-file"),
        ("raise OSError('no archive')", "3.14.0", "Keras cannot load the archive: no archive"),
        ("os.abort()", "3.14.0", "Keras ended with SIGABRT"),
        ("sys.exit(3)", "3.14.0", "Keras ended with status 3"),
        ("return 1", "3.14.0", "bad-model"),
        ("return 1", "3.13.1", "unsupported]: keras 3.13.1 does not load archives safely"),
    ],
)
def test_errors(
    body: str, version: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert message in read(tmp_path, monkeypatch, body, version)


def test_without_keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.keras"
    with pytest.raises(stepwell.StepwellError, match="No such file"):
        stepwell.compile(path)
    path.write_bytes(b"PK")
    monkeypatch.setattr("stepwell.tools.keras_archive.find_spec", lambda name: None)
    with pytest.raises(stepwell.StepwellError, match="reading m.keras needs keras") as caught:
        stepwell.compile(path)
    assert caught.value.code == "missing-package" and "stepwell[keras]" in caught.value.render()
    assert "keras" not in sys.modules
