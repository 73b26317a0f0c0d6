"""What the conversions from several frameworks to `graph` share."""

from stepwell.lowering.to_graph.expressions import Constants, Formula, Operand, Value

__all__ = ["Formula", "Constants", "Operand", "Value"]
