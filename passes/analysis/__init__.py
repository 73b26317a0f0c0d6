"""Facts about IR that passes, conversions and the driver share: symbols, sizes, calls, memory plans."""

from stepwell.passes.analysis.integers.analyzer import Analyzer

__all__ = ["Analyzer"]
