"""The mathematics of the C library, of f64 and f32, for exported files, which have no C library."""

from stepwell.lowering.export.c_math.code import MATH_FUNCTIONS, math_code

__all__ = ["MATH_FUNCTIONS", "math_code"]
