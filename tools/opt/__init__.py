"""`stepwell-opt`: run passes over a module of any level."""

from stepwell.tools.opt.command import command_line, main

__all__ = ["command_line", "main"]
