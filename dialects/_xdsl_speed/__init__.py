"""Faster methods of xDSL's classes, which do the same: docs/xdsl.md lists them."""
