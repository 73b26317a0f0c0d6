"""The log as programs for ONNX Runtime receive it: a function that is called with each message."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from stepwell.onnxruntime.errors import BindingError

LogFunction = Callable[[int, str, str, str, str], None]
"""Called with severity, category, the id of the log, the location in the code, and the message."""
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
"""Python's level of each severity: verbose, info, warning, error, fatal."""
_LOGGER = logging.getLogger("stepwell")


class _Handler(logging.Handler):
    """Passes messages of a severity on; what the function raises is dropped, as ONNX Runtime does."""

    def __init__(self, function: LogFunction, severity: int):
        super().__init__(_LEVELS[severity])
        self._function = function

    def emit(self, record: logging.LogRecord) -> None:
        """Call the function with a message."""
        severity = sum(level < record.levelno for level in _LEVELS[:-1])
        with suppress(Exception):
            self._function(severity, "stepwell", "", record.name, record.getMessage())


def set_default_logger_callback(callback: LogFunction | None, severity: int = 2) -> None:
    """
    Call a function with each message of at least a severity, 0 to 4; with None no longer.

    Raises: BindingError for another severity, or what is no function.
    """
    if callback is not None and not callable(callback):
        raise BindingError("bad-option", None, f"the callback is no function: {callback!r}")
    if severity not in range(len(_LEVELS)):
        raise BindingError("bad-option", None, f"a severity is 0 to 4, found {severity}")
    for handler in [each for each in _LOGGER.handlers if isinstance(each, _Handler)]:
        _LOGGER.removeHandler(handler)
    _LOGGER.setLevel(logging.NOTSET)
    if callback is not None:
        _LOGGER.addHandler(_Handler(callback, severity))
        _LOGGER.setLevel(_LEVELS[severity])


def set_default_logger_severity(severity: int) -> None:
    """Nothing to do: `STEPWELL_LOG` chooses what is logged."""
