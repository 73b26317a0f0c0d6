"""The mathematics of the C library, of f64 and f32, for exported files, which have no C library."""

from stepwell.lowering.c_math.code import MATH_FUNCTIONS, WIDE_FUNCTIONS, c_function, c_table, math_code
from stepwell.lowering.c_math.trigonometric import TABLE

__all__ = ["MATH_FUNCTIONS", "TABLE", "WIDE_FUNCTIONS", "c_function", "c_table", "math_code"]
