"""The files of tuning databases, which the keys of compiled models depend on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from stepwell.runtime.environment import TUNING_DB


def database_files(given: Sequence[str]) -> tuple[Path, ...]:
    """The databases of a compilation: from the options, else from the environment."""
    if given:
        return tuple(map(Path, given))
    text = TUNING_DB.value()
    return () if text is None else tuple(Path(part) for part in text.split(os.pathsep) if part)
