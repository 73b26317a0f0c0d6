"""Op tables: dialects of other frameworks, whose op classes are made from lines of signatures."""

from stepwell.dialects.foreign.op_class import SEGMENTS, ForeignOp, make_op_class
from stepwell.dialects.foreign.signature import Argument, Signature, parse_signature
from stepwell.dialects.foreign.table import OpTable
from stepwell.dialects.foreign.values import Value, attribute_of, value_of

__all__ = [
    "SEGMENTS",
    "Argument",
    "ForeignOp",
    "OpTable",
    "Signature",
    "Value",
    "attribute_of",
    "make_op_class",
    "parse_signature",
    "value_of",
]
