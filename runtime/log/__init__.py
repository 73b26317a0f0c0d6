"""The log: `logger(__name__)` for modules, and the specification of what is reported."""

from stepwell.runtime.log.loggers import (
    Log,
    Record,
    collecting,
    follow_passes,
    is_current,
    logger,
    logging_to,
    report,
    spec_data,
    use_spec,
    use_spec_data,
)
from stepwell.runtime.log.spec import Spec, read_spec

__all__ = [
    "Log",
    "Record",
    "Spec",
    "collecting",
    "follow_passes",
    "is_current",
    "logger",
    "logging_to",
    "read_spec",
    "report",
    "spec_data",
    "use_spec",
    "use_spec_data",
]
