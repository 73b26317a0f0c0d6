"""Marks in the text for upstream MLIR: dropped attributes, replaced ops, and the names of weights."""

from __future__ import annotations

CONSTANT, VIEW, VIEW_OF, ASSERT = "graph.constant", "graph.view", "graph.view_of", "graph.assert"
"""Attributes by which `from_upstream` recognizes the ops that stand for ours."""
INFO, MODULE_INFO = "stepwell_info", "stepwell_module_info"
"""Attributes with the text of dropped attributes: MLIR accepts names without a dialect."""
_PREFIX = "w_"


def resource_name(hash: str) -> str:
    """The name of the resource with the bytes of a weight."""
    return f"{_PREFIX}{hash}"


def weight_of(resource: str) -> str | None:
    """The hash of the weight whose bytes are a resource; None for another resource."""
    return resource.removeprefix(_PREFIX) if resource.startswith(_PREFIX) else None
