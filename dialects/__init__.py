"""The dialects of the IR, each in a file or folder of its own."""

from stepwell.dialects import _xdsl as _xdsl  # before any dialect: it makes assembly formats late
