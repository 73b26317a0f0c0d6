"""The `dev` dialect: the devices of a program by name, the device of each value, copies between devices."""

import sys

from xdsl.ir import Dialect

from stepwell.dialects.dev.arrays import ArrayType as ArrayType
from stepwell.dialects.dev.devices import DeviceOp as DeviceOp
from stepwell.dialects.dev.transfers import CopyOp as CopyOp
from stepwell.dialects.op_classes import ops_in

OPS = ops_in(sys.modules[__name__])

Dev = Dialect("dev", OPS, [ArrayType])
