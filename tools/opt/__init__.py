"""`stepwell-opt`: run passes over a module of any level."""

from stepwell.tools.opt.command import main

__all__ = ["main"]
