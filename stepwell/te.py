"""Operators as formulas: `from stepwell import te`."""

from stepwell.frontend.te.expressions import Axis as Axis
from stepwell.frontend.te.expressions import Expr as Expr
from stepwell.frontend.te.expressions import Size as Size
from stepwell.frontend.te.functions import FUNCTIONS as _FUNCTIONS
from stepwell.frontend.te.functions import checked as checked
from stepwell.frontend.te.functions import clamped as clamped
from stepwell.frontend.te.functions import floordiv as floordiv
from stepwell.frontend.te.functions import floormod as floormod
from stepwell.frontend.te.functions import if_then_else as if_then_else
from stepwell.frontend.te.functions import isnan as isnan
from stepwell.frontend.te.functions import maximum as maximum
from stepwell.frontend.te.functions import minimum as minimum
from stepwell.frontend.te.functions import power as power
from stepwell.frontend.te.functions import select as select
from stepwell.frontend.te.functions import truncdiv as truncdiv
from stepwell.frontend.te.functions import truncmod as truncmod
from stepwell.frontend.te.operator import operator as operator
from stepwell.frontend.te.reducers import Reducer as Reducer
from stepwell.frontend.te.reducers import argmax as argmax
from stepwell.frontend.te.reducers import argmin as argmin
from stepwell.frontend.te.reducers import reducer as reducer
from stepwell.frontend.te.tensors import Tensor as Tensor
from stepwell.frontend.te.tensors import compute as compute
from stepwell.frontend.te.tensors import placeholder as placeholder
from stepwell.frontend.te.tensors import reduce_axis as reduce_axis
from stepwell.frontend.te.tensors import var as var

exp = _FUNCTIONS["exp"]
expm1 = _FUNCTIONS["expm1"]
log = _FUNCTIONS["log"]
log1p = _FUNCTIONS["log1p"]
sqrt = _FUNCTIONS["sqrt"]
rsqrt = _FUNCTIONS["rsqrt"]
erf = _FUNCTIONS["erf"]
sigmoid = _FUNCTIONS["sigmoid"]
tanh = _FUNCTIONS["tanh"]
sin = _FUNCTIONS["sin"]
cos = _FUNCTIONS["cos"]
tan = _FUNCTIONS["tan"]
asin = _FUNCTIONS["asin"]
acos = _FUNCTIONS["acos"]
atan = _FUNCTIONS["atan"]
sinh = _FUNCTIONS["sinh"]
cosh = _FUNCTIONS["cosh"]
asinh = _FUNCTIONS["asinh"]
acosh = _FUNCTIONS["acosh"]
atanh = _FUNCTIONS["atanh"]
floor = _FUNCTIONS["floor"]
ceil = _FUNCTIONS["ceil"]
round = _FUNCTIONS["round"]
trunc = _FUNCTIONS["trunc"]
