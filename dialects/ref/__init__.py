"""The `ref` dialect: mutable cells, and reading and writing them in order."""

import sys

from xdsl.ir import Dialect

from stepwell.dialects.op_classes import ops_in
from stepwell.dialects.ref.cells import CellType as CellType
from stepwell.dialects.ref.cells import NewOp as NewOp
from stepwell.dialects.ref.cells import ReadOp as ReadOp
from stepwell.dialects.ref.cells import WriteOp as WriteOp

OPS = ops_in(sys.modules[__name__])

Ref = Dialect("ref", OPS, [CellType])
