"""Runs of the interpreter that leave iterations out, or add noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret, interpret_sampled
from stepwell.lowering.interpret.elements import undefined_bytes
from stepwell.lowering.interpret.noise import Noise
from stepwell.lowering.interpret.sampling import Sampling, TooManyOps, written
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import SCHEDULE_PIPELINE
from stepwell.runtime.meaning import Array
from stepwell.tools.check.function_inputs import inputs_of_function
from tests.support.kernels import matmul, softmax

KERNELS = {"product": matmul(37, 5, 16, 24), "softmax": softmax(40, 33)}


def on_level(text: str, level: str) -> tuple[Any, StepwellContext]:
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    run_pipeline(module, SCHEDULE_PIPELINE, ctx)
    if level == "loops":
        run_pipeline(module, "bufferize,linalg-to-loops", ctx)
    return module, ctx


def inputs_of(text: str) -> Sequence[Array]:
    ctx = StepwellContext()
    return inputs_of_function(next(iter(parse_module(ctx, text).ops)))  # pyright: ignore[reportArgumentType]


@pytest.mark.sample(3)
@pytest.mark.parametrize("level", ["vector", "loops"])
@pytest.mark.parametrize("name", sorted(KERNELS))
def test_a_sample_has_the_same_elements(name: str, level: str) -> None:
    """Elements that ran are those of the whole run; some ran, and fewer ops did."""
    module, ctx = on_level(KERNELS[name], level)
    inputs = inputs_of(KERNELS[name])
    whole, part = Sampling(), Sampling(outer=2, inner=2)
    (wanted,) = interpret(module, ctx, "k", inputs, sampling=whole)
    (found,) = interpret(module, ctx, "k", inputs, sampling=part)
    ran = written(found)
    assert 0 < ran.mean() < 1
    assert part.ops < whole.ops
    np.testing.assert_array_equal(found[ran], wanted[ran])
    assert written(wanted).all()


def test_what_other_ops_read_is_made_whole() -> None:
    """The first of two loops makes a tensor that the second one reads: no element of it is left out."""
    text = """
    func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %e = tensor.empty() : tensor<64xf32>
      %a = scf.for %i = %c0 to %c64 step %c1 iter_args(%t = %e) -> (tensor<64xf32>) {
        %s = tensor.extract_slice %x[%i] [1] [1] : tensor<64xf32> to tensor<1xf32>
        %u = tensor.insert_slice %s into %t[%i] [1] [1] : tensor<1xf32> into tensor<64xf32>
        scf.yield %u : tensor<64xf32>
      } {sched.parallel}
      %d = tensor.empty() : tensor<64xf32>
      %b = scf.for %i = %c0 to %c64 step %c1 iter_args(%t = %d) -> (tensor<64xf32>) {
        %c63 = arith.constant 63 : index
        %j = arith.subi %c63, %i : index
        %s = tensor.extract_slice %a[%j] [1] [1] : tensor<64xf32> to tensor<1xf32>
        %u = tensor.insert_slice %s into %t[%i] [1] [1] : tensor<1xf32> into tensor<64xf32>
        scf.yield %u : tensor<64xf32>
      } {sched.parallel}
      func.return %b : tensor<64xf32>
    }
    """
    ctx = StepwellContext()
    x = np.arange(64, dtype=np.float32)
    (found,) = interpret(parse_module(ctx, text), ctx, "f", [x], sampling=Sampling(outer=3, inner=3))
    ran = written(found)
    assert ran.sum() == 3 and ran[0] and ran[63]
    np.testing.assert_array_equal(found[ran], x[::-1][ran])


def test_a_limit_of_ops() -> None:
    module, ctx = on_level(KERNELS["product"], "vector")
    with pytest.raises(TooManyOps):
        interpret(module, ctx, "k", inputs_of(KERNELS["product"]), sampling=Sampling(max_ops=100))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u4", "i8", "c8"])
def test_undefined_elements_are_known(dtype: str) -> None:
    kind = np.dtype(dtype)
    array = np.zeros((3, 2), kind)
    array[1, 1] = np.frombuffer(undefined_bytes(kind).tobytes(), kind)[0]
    expected = np.ones((3, 2), bool)
    expected[1, 1] = False
    np.testing.assert_array_equal(written(array), expected)
    if kind.kind in "fc":
        assert np.isnan(array[1, 1])
        assert written(np.full(3, np.nan, kind)).all()  # the NaN of an operation is a result


SUM = """
func.func @f(%x: tensor<4xf32>) -> (tensor<f32>, tensor<4xi1>) {
  %s = graph.reduce %x kind "sum" axes [0] keep_dims false : tensor<4xf32> -> tensor<f32>
  %n = graph.is_nan %x : tensor<4xf32> -> tensor<4xi1>
  func.return %s, %n : tensor<f32>, tensor<4xi1>
}
"""


def test_noise_shows_a_sum_that_cancels() -> None:
    """The sum of x and -x is 0, with an error of the size of the roundings of x."""
    ctx = StepwellContext()
    module = parse_module(ctx, SUM)
    x = np.array([1000.3, -1000.3, 2000.7, -2000.7], np.float32)
    plain, _ = interpret(module, ctx, "f", [x])
    noisy, same = interpret(module, ctx, "f", [x], noise=Noise())
    assert plain == 0
    assert 1e-5 < abs(float(noisy)) < 1e-2
    assert not same.any()
    again, _ = interpret(module, ctx, "f", [x], noise=Noise())
    assert again == noisy  # the noise is seeded


TWO_LOOPS = """
func.func @f(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c63 = arith.constant 63 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x8xf32>
  %a = scf.for %i = %c0 to %c64 step %c1 iter_args(%t = %e) -> (tensor<64x8xf32>) {
    %v = vector.transfer_read %x[%i, %c0], %zero {in_bounds = [true]} : tensor<64x8xf32>, vector<8xf32>
    %w = arith.addf %v, %v : vector<8xf32>
    %u = vector.transfer_write %w, %t[%i, %c0] {in_bounds = [true]} : vector<8xf32>, tensor<64x8xf32>
    scf.yield %u : tensor<64x8xf32>
  }
  %d = tensor.empty() : tensor<64x8xf32>
  %b = scf.for %i = %c0 to %c64 step %c1 iter_args(%t = %d) -> (tensor<64x8xf32>) {
    %j = arith.subi %c63, %i : index
    %v = vector.transfer_read %a[%j, %c0], %zero {in_bounds = [true]} : tensor<64x8xf32>, vector<8xf32>
    %u = vector.transfer_write %v, %t[%i, %c0] {in_bounds = [true]} : vector<8xf32>, tensor<64x8xf32>
    scf.yield %u : tensor<64x8xf32>
  }
  func.return %b : tensor<64x8xf32>
}
"""


@pytest.mark.parametrize("passes", ["", "bufferize"])
def test_what_a_sample_needs_is_made(passes: str) -> None:
    """Of the first loop those iterations run whose elements the sampled ones of the second read."""
    ctx = StepwellContext()
    module = parse_module(ctx, _as_kernel(TWO_LOOPS))
    run_pipeline(module, passes, ctx)
    x = np.arange(512, dtype=np.float32).reshape(64, 8)
    whole, part = Sampling(), Sampling(outer=3, inner=3)
    (wanted,) = interpret(module, ctx, "f", [x], sampling=whole)
    (found,) = interpret_sampled(module, ctx, "f", [x], part)
    ran = written(found)
    assert ran.any(axis=1).sum() == 3 and ran[0].all() and ran[63].all()
    np.testing.assert_array_equal(found[ran], wanted[ran])
    np.testing.assert_array_equal(wanted, 2 * x[::-1])
    assert part.ops < whole.ops / 4


def test_what_a_later_iteration_reads_is_made() -> None:
    """A running sum: each iteration of the first loop reads what the one before wrote."""
    text = TWO_LOOPS.replace("arith.addf %v, %v", "arith.addf %v, %p").replace(
        "    %w =",
        "    %h = arith.subi %i, %c1 : index\n    %k = arith.maxsi %h, %c0 : index\n"
        "    %p = vector.transfer_read %t[%k, %c0], %zero {in_bounds = [true]} "
        ": tensor<64x8xf32>, vector<8xf32>\n    %w =",
        1,
    )
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    x = np.ones((64, 8), np.float32)
    part = Sampling(outer=3, inner=3)
    (wanted,) = interpret(module, ctx, "f", [x])
    (found,) = interpret_sampled(module, ctx, "f", [x], part)
    ran = written(found)
    np.testing.assert_array_equal(found[ran], wanted[ran])


def _as_kernel(text: str) -> str:
    """A function as a kernel of one input and one output."""
    head = "-> tensor<64x8xf32> {\n  %c0"
    kernel = "attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}"
    return text.replace(head, head.replace("{", f"{kernel} {{"), 1)
