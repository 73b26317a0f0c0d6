"""The `adt` dialect: algebraic data types, their constructors, and `match`."""

import sys

from xdsl.ir import Dialect

from stepwell.dialects.adt.data import ConstructorOp as ConstructorOp
from stepwell.dialects.adt.data import DataOp as DataOp
from stepwell.dialects.adt.data import DataType as DataType
from stepwell.dialects.adt.make import MakeOp as MakeOp
from stepwell.dialects.adt.match import MatchOp as MatchOp
from stepwell.dialects.adt.patterns import PatternAttr as PatternAttr
from stepwell.dialects.op_classes import ops_in

OPS = ops_in(sys.modules[__name__])

Adt = Dialect("adt", OPS, [DataType, PatternAttr])
