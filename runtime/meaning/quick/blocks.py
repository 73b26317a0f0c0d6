"""Blocks of parts that stay in the second-level cache while numpy passes over them."""

_BYTES = 1 << 18
"""A fraction of that cache, since up to four copies of a block are in use."""


def parts_in_block(part_bytes: int) -> int:
    """The number of parts of so many bytes in a block: at least one."""
    return max(1, _BYTES // max(1, part_bytes))
