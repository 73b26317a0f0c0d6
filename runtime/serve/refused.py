"""The end of a request that gets no result: a status of HTTP, and a text for its sender."""

from __future__ import annotations

import re
from http import HTTPStatus

from stepwell.runtime.errors import StepwellError

_NODE = re.compile(r'node "[^"]*"')
_OURS = frozenset({"internal", "out-of-memory", "wrong-cpu", "missing-package"})
"""The codes of errors that another request does not mend."""


class Refused(Exception):
    """A request that is answered by an error. Args: `status` of HTTP; `text` for the sender."""

    def __init__(self, status: HTTPStatus, text: str):
        super().__init__(text)
        self.status = status
        self.text = text


def bad_request(text: str) -> Refused:
    """The refusal of a message that breaks the protocol, or does not fit the model."""
    return Refused(HTTPStatus.BAD_REQUEST, text)


def refusal_of(error: Exception) -> Refused:
    """
    The answer to a request during which an error was raised.

    A diagnostic is shown without files of this machine: of its location, only nodes of the model are. The
    text of any other error stays here.
    """
    if isinstance(error, Refused):
        return error
    if not isinstance(error, StepwellError) or error.code == "internal":
        return Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error: the log of the server has it")
    nodes = ", ".join(_NODE.findall(error.where))
    text = f"{error.code}: {nodes}{': ' * bool(nodes)}{error.message}"
    text += "".join(f"; {note}" for note in error.notes)
    is_ours = error.code in _OURS
    return Refused(HTTPStatus.INTERNAL_SERVER_ERROR if is_ours else HTTPStatus.BAD_REQUEST, text)
