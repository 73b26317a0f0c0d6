"""A script with ops by their names, in a file of its own: its source is read."""

# ruff: noqa: F821

from stepwell.script import Buffer, Out, op, script


@script
def angles(y: Buffer["N", "f32"], x: Buffer["N", "f32"], z: Out["N", "f32"]):
    for i in range(y.shape[0]):
        z[i] = op("math.atan2", y[i], x[i]) + op("math.copysign", 1.0, x[i])
