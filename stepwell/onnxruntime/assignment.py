"""Nodes of a model by the execution provider that runs them: all of them by ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepwell.onnxruntime.providers import STEPWELL

if TYPE_CHECKING:
    from stepwell.frontend.messages import ModelProto

RECORDED = "session.record_ep_graph_assignment_info"
"""The configuration entry with which a session may be asked."""


@dataclass(frozen=True)
class OrtEpAssignedNode:
    """A node of the model's file."""

    name: str
    domain: str
    op_type: str


@dataclass(frozen=True)
class OrtEpAssignedSubgraph:
    """Nodes that are compiled together."""

    _nodes: Sequence[OrtEpAssignedNode]
    ep_name: str = STEPWELL

    def get_nodes(self) -> Sequence[OrtEpAssignedNode]:
        """The nodes."""
        return self._nodes


def assigned_subgraphs(model: ModelProto | None) -> list[OrtEpAssignedSubgraph]:
    """The one subgraph, with all nodes of a model's main graph."""
    if model is None:
        return [OrtEpAssignedSubgraph([])]
    nodes = [OrtEpAssignedNode(node.name, node.domain, node.op_type) for node in model.graph.node]
    return [OrtEpAssignedSubgraph(nodes)]
