"""
The measured speed of each register tile on a machine, as `stepwell calibrate` stores it in the cache's
folder.

There is a file for each target. The choosers of schedules use it; without a file, they use heuristics.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import cast

from stepwell.runtime.files.cache import default_folder
from stepwell.runtime.files.whole_files import write_text
from stepwell.runtime.machine.target import TargetDescription, TileShares, tile_shares_of


class CalibrationWarning(UserWarning):
    """A file of measurements that cannot be used."""


def shares_file(target: TargetDescription) -> Path:
    """The path of the file with the measurements of a target."""
    plain = json.dumps(replace(target, tile_shares=()).to_json(), sort_keys=True)
    return default_folder() / f"tiles-{hashlib.blake2b(plain.encode(), digest_size=8).hexdigest()}.json"


def keep_shares(target: TargetDescription, shares: TileShares) -> None:
    """Store the measurements of a target. Raises: OSError, StepwellError when the file cannot be written."""
    path = shares_file(target)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_text(path, json.dumps({"tiles": dict(shares)}) + "\n")


def with_kept_shares(target: TargetDescription) -> TargetDescription:
    """
    A target with its stored measurements; unchanged without any, or, with a warning, without usable ones.
    """
    path = shares_file(target)
    try:
        text = path.read_text()
    except OSError:
        return target
    shares = _read(str(path), text)
    return replace(target, tile_shares=shares) if shares else target


@cache
def _read(name: str, text: str) -> TileShares:
    """The measurements in a file's text; warns once of an unusable file."""
    try:
        data = cast(Mapping[str, Mapping[str, Sequence[Sequence[float]]]], json.loads(text))
        return tile_shares_of(tuple(data["tiles"].items()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = (
            f"{name} is no calibration ({error}): tiles are chosen by heuristics; run `stepwell calibrate`"
        )
        warnings.warn(message, CalibrationWarning, stacklevel=2)
        return ()
