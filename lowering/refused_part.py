"""Refused ops of a device part, all of them at once, for the host."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stepwell.runtime.errors import StepwellError

REFUSALS = ("not-on-device", "unsupported", "unsupported-op", "exceeds-target", "unsupported-ptx")
"""The codes of errors that say what a device lacks."""
_NODE = re.compile(r'node "((?:[^"\\]|\\.)*)"')


class RefusedPart(StepwellError):
    """The ops of a part that its device cannot compute."""

    def __init__(self, errors: Sequence[StepwellError]):
        first = errors[0]
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        super().__init__(first.code, first.where, f"{first.message}{more}", help=first.help)
        self.errors = tuple(errors)

    def by_node(self) -> Mapping[str, str]:
        """The reasons by the names of the nodes of the model that the ops compute."""
        found: dict[str, str] = {}
        for error in self.errors:
            for name in _NODE.findall(str(error.where or "")):
                found.setdefault(name, error.message)
        return found


class Refusals:
    """Errors that were met so far; others than refusals are raised."""

    def __init__(self) -> None:
        self.errors: list[StepwellError] = []

    def add(self, error: StepwellError) -> None:
        """Note an error. Raises: the error, where it is no refusal."""
        if error.code not in REFUSALS:
            raise error
        self.errors.append(error)

    def expect_none(self) -> None:
        """Raises: RefusedPart where something was refused."""
        if self.errors:
            raise RefusedPart(self.errors)
