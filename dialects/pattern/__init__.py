"""
The `pattern` dialect: the dataflow pattern language as text. An SSA value is a pattern object, so two uses of
it mean one and the same matched node.
"""

from xdsl.ir import Dialect

from stepwell.dialects.op_classes import ops_in
from stepwell.dialects.pattern import base, calls, combinators, edges, leaves, rules
from stepwell.dialects.pattern.base import NodeType
from stepwell.dialects.pattern.rules import FromAttr

Pattern = Dialect("pattern", ops_in(base, leaves, calls, combinators, edges, rules), [NodeType, FromAttr])
