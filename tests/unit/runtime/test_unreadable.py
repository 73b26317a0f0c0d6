"""Files that cannot be read: codes, reasons, similar names."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import expect_exists, read_bounded, read_text, unreadable


def test_the_help_for_a_missing_file_is_a_similar_name(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"\xff")
    missing = tmp_path / "wieghts.bin"
    for read in (
        lambda: expect_exists(missing, "model"),
        lambda: read_text(missing, "model"),
        lambda: read_bounded(missing, "model", 9),
    ):
        with pytest.raises(StepwellError, match="cannot read the model: No such file or directory") as caught:
            read()
        assert caught.value.code == "no-file" and caught.value.where == str(missing)
        assert caught.value.help == "did you mean weights.bin?"


def test_other_reasons_have_no_similar_name(tmp_path: Path) -> None:
    file = tmp_path / "m.txt"
    file.write_bytes(b"\xff")
    (tmp_path / "n.txt").touch()
    with pytest.raises(StepwellError, match="cannot read the patterns: 'utf-8' codec") as caught:
        read_text(file, "patterns")
    assert caught.value.code == "no-file" and caught.value.help is None
    assert (
        unreadable(tmp_path / "o.txt", "IR", OSError("it is odd")).message == "cannot read the IR: it is odd"
    )
    with pytest.raises(StepwellError, match="Is a directory"):
        read_bounded(tmp_path, "model", 1 << 30)


def test_a_bounded_file_has_at_most_so_many_bytes(tmp_path: Path) -> None:
    file = tmp_path / "m.bin"
    file.write_bytes(b"abc")
    expect_exists(file, "model")
    assert read_bounded(file, "model", 3) == b"abc"
    with pytest.raises(StepwellError, match="the model has 3 bytes, at most 2 are read") as caught:
        read_bounded(file, "model", 2)
    assert caught.value.code == "too-large"
