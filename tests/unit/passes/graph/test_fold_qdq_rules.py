"""The rules of `fold-qdq` against the program in floats: at most one step of the result's scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from tests.support.samples import examples

_HEAD = """
func.func @main(%x: tensor<2x3x4xui8>, %y: tensor<2x5x4xi8>) -> {type} {{
  %s = graph.constant dense<0.25> : tensor<f32>
  %t = graph.constant dense<{t}> : tensor<f32>
  %p = graph.constant dense<{p}> : tensor<ui8>
  %q = graph.constant dense<{q}> : tensor<i8>
  %lo = graph.constant dense<-1.1> : tensor<f32>
  %hi = graph.constant dense<6.0> : tensor<f32>
  %i = graph.constant dense<[2, 0]> : tensor<2xi64>
  %a = graph.dequantize %x, %s zero_point %p : tensor<ui8> to f32
    : (tensor<2x3x4xui8>, tensor<f32>) -> tensor<2x3x4xf32>
  %b = graph.dequantize %y, %t zero_point %q : tensor<i8> to f32
    : (tensor<2x5x4xi8>, tensor<f32>) -> tensor<2x5x4xf32>
  {body}
  %r = graph.quantize %c, %t zero_point %p : tensor<ui8> to ui8 : ({float}, tensor<f32>) -> {type}
  func.return %r : {type}
}}
"""
_X = "tensor<2x3x4xf32>"
_BODIES = {
    "transpose": (f"%c = graph.transpose %a perm [2, 0, 1] : {_X} -> tensor<4x2x3xf32>", "4x2x3"),
    "reshape": (f"%c = graph.reshape %a shape <[6, 4]> : {_X} -> tensor<6x4xf32>", "6x4"),
    "slice": (
        f"%c = graph.slice %a starts <[0, 2, 1]> limits <[2, -1, 4]> steps [1, -2, 2] : "
        f"{_X} -> tensor<2x2x2xf32>",
        "2x2x2",
    ),
    "reverse": (f"%c = graph.reverse %a axes [1] : {_X} -> tensor<2x3x4xf32>", "2x3x4"),
    "tile": (f"%c = graph.tile %a repeats <[1, 2, 1]> : {_X} -> tensor<2x6x4xf32>", "2x6x4"),
    "gather": (
        f'%c = graph.gather %a, %i axis 1 batch_dims 0 bounds "check" : '
        f"({_X}, tensor<2xi64>) -> tensor<2x2x4xf32>",
        "2x2x4",
    ),
    "pad": (
        f'%c = graph.pad %a with %hi : tensor<f32> pads <[0, 1, 0, 0, 0, 2]> mode "constant" : '
        f"{_X} -> tensor<2x4x6xf32>",
        "2x4x6",
    ),
    "clip": (f"%c = graph.clip %a lo %lo : tensor<f32> hi %hi : tensor<f32> : {_X} -> {_X}", "2x3x4"),
    "concat": (f"%c = graph.concat %a, %b axis 1 : ({_X}, tensor<2x5x4xf32>) -> tensor<2x8x4xf32>", "2x8x4"),
    "product": (
        f"%c = graph.matmul %a, %b transpose_b true : ({_X}, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>",
        "2x3x5",
    ),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", list(_BODIES))
@given(data=st.data())
@examples(24)
def test_a_step_at_most(name: str, data: st.DataObject) -> None:
    t = data.draw(st.sampled_from([0.25, 0.1, 1.5]))
    p, q = data.draw(st.integers(0, 255)), data.draw(st.integers(-128, 127))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    body, shape = _BODIES[name]
    text = _HEAD.format(body=body, t=t, p=p, q=q, float=f"tensor<{shape}xf32>", type=f"tensor<{shape}xui8>")
    ctx = StepwellContext()
    module = parse_module(ctx, text, "rule")
    feeds = [
        rng.integers(0, 256, (2, 3, 4)).astype(np.uint8),
        rng.integers(-128, 128, (2, 5, 4)).astype(np.int8),
    ]
    (expected,) = interpret(module, ctx, "main", feeds)
    run_pipeline(module, "fold-qdq", ctx)
    (found,) = interpret(module, ctx, "main", feeds)
    steps = np.abs(np.asarray(found, np.int32) - np.asarray(expected, np.int32))
    assert steps.max() <= (1 if name == "product" else 0)


_CHANNELS = """
func.func @main(%x: tensor<2x3x4x4xui8>) -> tensor<2x3x4x4x{to}> {{
  %s = graph.constant dense<[0.25, 0.01, 1.5]> : tensor<3xf32>
  %p = graph.constant dense<[{p}, {p}, {p}]> : tensor<3xui8>
  %w = graph.constant dense<{w}> : tensor<3x1x2x2xi8>
  %t = graph.constant dense<[0.1, 0.03, 0.002]> : tensor<3xf32>
  %b = graph.constant dense<[1.0, -0.5, 0.2]> : tensor<3xf32>
  %u = graph.constant dense<[{u}, 0.0234, 0.004]> : tensor<3xf32>
  %q = graph.constant dense<[{q}, {q}, {q}]> : tensor<3x{to}>
  %lo = graph.constant dense<0.0> : tensor<f32>
  %hi = graph.constant dense<6.0> : tensor<f32>
  %a = graph.dequantize %x, %s zero_point %p : tensor<3xui8> axis 1 to f32
    : (tensor<2x3x4x4xui8>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
  %v = graph.dequantize %w, %t to f32 : (tensor<3x1x2x2xi8>, tensor<3xf32>) -> tensor<3x1x2x2xf32>
  %c = graph.conv %a, %v strides [1, 1] dilations [1, 1] pads [1, 0, 0, 1] groups 3
    : (tensor<2x3x4x4xf32>, tensor<3x1x2x2xf32>) -> tensor<2x3x4x4xf32>
  %d = graph.bias_add %c, %b axis 1 : (tensor<2x3x4x4xf32>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
  %e = graph.clip %d lo %lo : tensor<f32> hi %hi : tensor<f32> : tensor<2x3x4x4xf32> -> tensor<2x3x4x4xf32>
  %r = graph.quantize %e, %u zero_point %q : tensor<3x{to}> axis 1 to {to}
    : (tensor<2x3x4x4xf32>, tensor<3xf32>) -> tensor<2x3x4x4x{to}>
  func.return %r : tensor<2x3x4x4x{to}>
}}
"""


@given(data=st.data())
@examples(24)
def test_channels_with_scales_of_their_own(data: st.DataObject) -> None:
    """Bounds that saturation implies, and bounds that remain: 6 is 255, or less, in the first channel."""
    to, q = data.draw(st.sampled_from([("ui8", 0), ("ui8", 7), ("i8", -128), ("i8", 0)]))
    p, u = data.draw(st.integers(0, 255)), data.draw(st.sampled_from([0.0234, 0.02352941, 0.05]))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    w = rng.integers(-128, 128, (3, 1, 2, 2)).tolist()
    ctx = StepwellContext()
    module = parse_module(ctx, _CHANNELS.format(to=to, q=q, p=p, u=u, w=w), "channels")
    feeds = [rng.integers(0, 256, (2, 3, 4, 4)).astype(np.uint8)]
    (expected,) = interpret(module, ctx, "main", feeds)
    run_pipeline(module, "fold-qdq", ctx)
    is_clipped = u == 0.05 or (to, q) not in (("ui8", 0), ("i8", -128))
    assert "conv_integer" in str(module) and ("graph.clip" in str(module)) == is_clipped
    (found,) = interpret(module, ctx, "main", feeds)
    steps = np.abs(np.asarray(found, np.int32) - np.asarray(expected, np.int32))
    assert steps.max() <= 1
