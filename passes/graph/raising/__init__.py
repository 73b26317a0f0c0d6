"""Raising: a group of small ops is replaced by the single op that is equivalent to them."""
