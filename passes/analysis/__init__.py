"""Facts about IR that passes, conversions and the driver share: symbols, sizes, calls, memory plans."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepwell.runtime.integers.analyzer import Analyzer

__all__ = ["Analyzer"]


def __getattr__(name: str) -> object:
    """The analyzer of integers, imported when it is first used: the pass manager does not need one."""
    if name != "Analyzer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from stepwell.runtime.integers.analyzer import Analyzer

    return Analyzer
