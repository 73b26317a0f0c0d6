"""Rules of `raise-to-row-ops` that recognize activations which exporters expand to arithmetic."""

from __future__ import annotations

from math import pi, sqrt

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.passes.graph.constant_operands import any_number, is_closed, number, scalar_of
from stepwell.patterns import Pattern, Rule, is_op, wildcard
from stepwell.patterns.rewriting import NodeMap

_add, _multiply, _divide = is_op("graph.add"), is_op("graph.multiply"), is_op("graph.divide")
_erf, _exp, _neg = is_op("graph.erf"), is_op("graph.exp"), is_op("graph.neg")
_power, _sigmoid, _tanh = is_op("graph.power"), is_op("graph.sigmoid"), is_op("graph.tanh")


def raise_gelu() -> Rule:
    """
    Replace x / 2 * (1 + erf(x / sqrt(2))), its factors in any order, by GELU.

    ```mlir
    %r = graph.constant dense<0.707106769> : tensor<f32>
    %one = graph.constant dense<1.0> : tensor<f32>
    %half = graph.constant dense<0.5> : tensor<f32>
    %a = graph.multiply %x, %r : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %b = graph.erf %a : tensor<4xf32> -> tensor<4xf32>
    %c = graph.add %b, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %d = graph.multiply %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = graph.multiply %d, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    // ->
    %y = graph.gelu %x approximate "none" : tensor<4xf32> -> tensor<4xf32>
    ```
    """
    x = wildcard()
    scaled = _multiply(x, number(sqrt(0.5))) | _divide(x, number(sqrt(2)))
    return _gelu(x, _erf(scaled), "none")


def raise_tanh_gelu() -> Rule:
    """
    Replace x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x³))) by GELU with tanh.

    The cube is `power`, or products.

    ```mlir
    %three = graph.constant dense<3.0> : tensor<f32>
    %k = graph.constant dense<0.044715> : tensor<f32>
    %r = graph.constant dense<0.7978845608> : tensor<f32>
    %one = graph.constant dense<1.0> : tensor<f32>
    %half = graph.constant dense<0.5> : tensor<f32>
    %a = graph.power %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %b = graph.multiply %a, %k : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %c = graph.add %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %d = graph.multiply %c, %r : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %e = graph.tanh %d : tensor<4xf32> -> tensor<4xf32>
    %f = graph.add %e, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %g = graph.multiply %x, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %y = graph.multiply %g, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.gelu %x approximate "tanh" : tensor<4xf32> -> tensor<4xf32>
    ```
    """
    x, factor, root = wildcard(), number(0.044715), number(sqrt(2 / pi))
    square = _multiply(x, x) | _power(x, number(2))
    cube = _power(x, number(3)) | _multiply(x, square)
    small = _multiply(factor, cube) | _multiply(_multiply(factor, x), square)
    small |= _multiply(x, _multiply(factor, square)) | _multiply(x, _multiply(x, _multiply(factor, x)))
    inner = _multiply(root, _add(x, small))
    # Some exporters factor x out: x * (1 + 0.044715 * x²).
    stretched = _add(_multiply(factor, square) | _multiply(_multiply(factor, x), x), number(1))
    inner |= _product(x, root, stretched)
    return _gelu(x, _tanh(inner), "tanh")


def _gelu(x: Pattern, bent: Pattern, approximate: str) -> Rule:
    """The rule that replaces x / 2 * (1 + bent) by GELU, where `bent` matches the erf or tanh."""
    raised = _add(bent, number(1))
    pattern = _product(x, number(0.5), raised) | _divide(_multiply(x, raised), number(2))

    def replace(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        (source,) = nodes[x]
        if source.type != post.type or not is_closed(post, [source]):
            return post
        return rewriter.insert(graph.GeluOp(source, approximate)).result

    return Rule(pattern, replace, require_type=True, name=f"raise GELU ({approximate})")


def _product(a: Pattern, b: Pattern, c: Pattern) -> Pattern:
    """A pattern of a * b * c with any two factors multiplied first."""
    return _multiply(a, _multiply(b, c)) | _multiply(_multiply(a, b), c) | _multiply(_multiply(a, c), b)


def raise_sigmoid() -> Rule:
    """
    Replace 1 / (1 + exp(-x)) by the sigmoid.

    ```mlir
    %one = graph.constant dense<1.0> : tensor<f32>
    %a = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
    %b = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
    %c = graph.add %b, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %y = graph.divide %one, %c : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.sigmoid %x : tensor<4xf32> -> tensor<4xf32>
    ```
    """
    x = wildcard()
    pattern = _divide(number(1), _add(number(1), _exp(_neg(x))))

    def replace(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        (source,) = nodes[x]
        if source.type != post.type or not is_closed(post, [source]):
            return post
        return rewriter.insert(graph.SigmoidOp(source)).result

    return Rule(pattern, replace, require_type=True, name="raise sigmoid")


def raise_silu() -> Rule:
    """
    Replace x * sigmoid(alpha * x), alpha a constant or absent, by SiLU.

    ```mlir
    %k = graph.constant dense<1.5> : tensor<f32>
    %a = graph.multiply %x, %k : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %b = graph.sigmoid %a : tensor<4xf32> -> tensor<4xf32>
    %y = graph.multiply %x, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.silu %x alpha 1.5 : tensor<4xf32> -> tensor<4xf32>
    ```
    """
    x, alpha = wildcard(), any_number()
    pattern = _multiply(x, _sigmoid(x)) | _multiply(x, _sigmoid(_multiply(alpha, x)))

    def replace(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        (source,) = nodes[x]
        if source.type != post.type or not is_closed(post, [source]):
            return post
        factor = scalar_of(nodes[alpha][0]) if alpha in nodes else 1.0
        return rewriter.insert(graph.SiluOp(source, factor)).result

    return Rule(pattern, replace, require_type=True, name="raise SiLU")
