"""Files of JSON with a format and a version, of bounded size."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import unreadable
from stepwell.runtime.json_values import as_mapping

VERSION = 1
T = TypeVar("T")


def read_json(
    path: Path,
    format: str,
    max_bytes: int,
    what: str,
    parse: Callable[[Mapping[str, object]], T],
    help: str | None = None,
) -> T:
    """
    The result of `parse` for the object in a file of a format; `what` names it in errors.

    Raises: StepwellError `no-file`, or `bad-data` for another format and for what `parse` raises:
    TypeError, ValueError.
    """
    try:
        if path.stat().st_size > max_bytes:
            raise ValueError(f"it has more than {max_bytes >> 20} MiB")
        about = as_mapping(json.loads(path.read_bytes()))
        if about.get("format") != format or about.get("version") != VERSION:
            raise ValueError(f'"format" must be "{format}" and "version" {VERSION}')
        return parse(about)
    except OSError as error:
        raise unreadable(path, what, error) from None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise StepwellError("bad-data", str(path), f"this is no {what}: {error}", help=help) from None
