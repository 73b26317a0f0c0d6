"""The schema of TFLite's files, from `schema.txt` beside."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from stepwell.frontend.flatbuffer.schema import Schema


@cache
def schema() -> Schema:
    """The schema, which is read on first use."""
    return Schema(Path(__file__).with_name("schema.txt").read_text(encoding="utf-8"))
