"""The `graph` dialect, level 1: one version of each operator, types and shapes related, fusion decided."""

from xdsl.ir import Dialect, Operation

from stepwell.dialects.graph import structure
from stepwell.dialects.types import DimsAttr, WeightAttr

OPS: list[type[Operation]] = [*structure.OPS]

Graph = Dialect("graph", OPS, [DimsAttr, WeightAttr])
