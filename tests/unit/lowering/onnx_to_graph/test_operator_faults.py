"""Plugins of operators and ops that are wrong: one error each that names the plugin's file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli, opt
from tests.commands import Capture, shown_error, written
from tests.onnx_models import imported, onnx_model

PRELUDE = "from stepwell.plugin import *\n"
"""Line 1 of each plugin."""
CUBE = '@onnx_op("{domain}", "Cube")\ndef cube(rewriter, x, *, scale=1.0):\n    '
TYPED = CUBE.replace('Cube"', 'Cube", types={types}') + "return graph.ReluOp(x)"


def compiling(
    capsys: Capture, folder: Path, name: str, *plugins: str, node: str = "Cube<scale = 2.0>(x)"
) -> str:
    """The error of `stepwell compile` for a node of a domain `test.NAME`, with plugins in files `NAME.py`."""
    model = onnx_model(
        f"g (float[3, 4] x) => (float[3, 4] y) {{ y = test.{name}.{node} }}", header=f', "test.{name}" : 1'
    )
    files = [
        written(folder / f"{name}{number or ''}.py", PRELUDE + plugin.replace("{domain}", f"test.{name}"))
        for number, plugin in enumerate(plugins)
    ]
    loads = [option for file in files for option in ("--load", file)]
    return shown_error(capsys, cli.main, "compile", written(folder / "m.onnx", model), *loads)


LOWERINGS = {
    "raises": (CUBE + "return [][1]", "plugin-failed", "IndexError: list index out of range", "raises.py:4"),
    "nothing": (CUBE + "graph.ReluOp(x)", "bad-lowering", "the lowering returns nothing", "nothing.py:2"),
    "number": (
        CUBE + "return 3",
        "bad-lowering",
        "the lowering returns 3, expected values or ops",
        "number.py:2",
    ),
    "text": (CUBE + 'return "y"', "bad-lowering", "the lowering returns 'y'", "text.py:2"),
    "empty": (
        CUBE + "return []",
        "bad-lowering",
        "the model uses 1 outputs, and the lowering returns 0",
        "empty.py:2",
    ),
    "level": (
        CUBE + "from xdsl.dialects.arith import NegfOp\n    return NegfOp(x)",
        "bad-lowering",
        "the lowering builds arith.negf, which is neither of `graph` nor of a plugin",
        "level.py:2",
    ),
    "other_shape": (
        TYPED.replace("{types}", "lambda x, *, scale: tensor_type(f32, [3, 5])"),
        "bad-lowering",
        "output 0 is declared as tensor<3x5xf32>, and the lowering makes tensor<3x4xf32>",
        "other_shape.py:2",
    ),
    "other_element": (
        TYPED.replace("{types}", "lambda x, *, scale: (tensor_type(f64, [3, 4]),)"),
        "bad-lowering",
        "output 0 is declared as tensor<3x4xf64>, and the lowering makes tensor<3x4xf32>",
        "other_element.py:2",
    ),
    "no_tensor": (
        TYPED.replace("{types}", "lambda x, *, scale: f32"),
        "bad-lowering",
        "output 0 is declared as f32, and the lowering makes tensor<3x4xf32>",
        "no_tensor.py:2",
    ),
    "number_of_types": (
        TYPED.replace("{types}", "lambda x, *, scale: (x.type, x.type)"),
        "bad-lowering",
        "2 types are declared, and the lowering returns 1 values",
        "number_of_types.py:2",
    ),
    "constant": (
        CUBE + "return graph.AddOp(x, constant(rewriter, 0.5, like=graph.CastOp(x, i32).result))",
        "type-mismatch",
        "0.5 is no constant of type int32",
        "constant.py:2",
    ),
    "type_function": (
        TYPED.replace("{types}", "lambda x: x.type"),
        "plugin-failed",
        "TypeError: ",
        "type_function.py:2",
    ),
    "constraint": (
        CUBE + "return graph.SoftmaxOp(x, 7)",
        "invalid-model",
        "test.constraint.Cube: axis must be in 0..1, found 7",
        "constraint.py:2",
    ),
    "own_error": (
        CUBE + 'raise StepwellError("unsupported", None, f"a scale of {scale}")',
        "unsupported",
        "a scale of 2.0",
        "own_error.py:2",
    ),
    "op_without_lowering": (
        '@onnx_op("{domain}", "Cube")\n@op("test_without.cube")\nclass CubeOp(Op):\n'
        "    x = operand_def(TensorType)\n    scale = prop_def(FloatAttr)\n"
        "    result = result_def(TensorType)\n",
        "unsupported-op",
        "nothing has lowered test_without.cube",
        "",
    ),
    "operand": (
        '@onnx_op("{domain}", "Cube")\n@op("test_operand.cube")\nclass CubeOp(Op):\n'
        "    x = operand_def(eq(tensor_type(f32, [5])))\n    scale = prop_def(FloatAttr)\n"
        "    result = result_def(TensorType)\n",
        "invalid-model",
        "operand 'x' at position 0 does not verify",
        "operand.py:2",
    ),
    "infers_no_tensor": (
        '@onnx_op("{domain}", "Cube")\n@op("test_infers.cube")\nclass CubeOp(Op):\n'
        "    x = operand_def(TensorType)\n    scale = prop_def(FloatAttr)\n"
        "    result = result_def(TensorType)\n    def infer(self):\n        return f32\n",
        "invalid-model",
        "result 'result' at position 0 does not verify",
        "infers_no_tensor.py:2",
    ),
    "pattern": (
        '@onnx_op("{domain}", "Cube")\nclass CubeLowering(RewritePattern):\n    @op_type_rewrite_pattern\n'
        "    def match_and_rewrite(self, op: onnx.CallOp, rewriter, /):\n        pass\n",
        "unsupported-op",
        "the plugin's pattern does not rewrite it: CubeLowering, ",
        "pattern.py:2",
    ),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", LOWERINGS)
def test_a_lowering_that_cannot_replace_its_node(name: str, tmp_path: Path, capsys: Capture) -> None:
    plugin, code, message, place = LOWERINGS[name]
    printed = compiling(capsys, tmp_path, name, plugin)
    assert printed.startswith(f"error[{code}]: ") and message in printed
    assert '--> m.onnx: node "Cube#0"' in printed
    assert place in printed and "please report" not in printed


def test_a_lowering_without_end(tmp_path: Path, capsys: Capture) -> None:
    plugin = (
        OP.format(name="test_endless.a") + "@lower(AOp)\ndef again(op, rewriter):\n    return AOp(op.x)\n"
    )
    text = 'func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %y = "test_endless.a"(%x) : '
    text += "(tensor<4xf32>) -> tensor<4xf32>\n  func.return %y : tensor<4xf32>\n}"
    model, file = written(tmp_path / "m.mlir", text), written(tmp_path / "endless.py", PRELUDE + plugin)
    printed = shown_error(capsys, cli.main, "compile", model, "--load", file)
    assert printed.startswith("error[endless-rules]: rewriting does not end: again works on what it makes")
    assert f"a pattern of the plugin {file}" in printed


NODES = {
    "attribute": ("Cube<scales = 2.0>(x)", "test.attribute.Cube has no attribute `scales`"),
    "kind": ("Cube<scale = 2>(x)", "test.kind.Cube needs attribute `scale` of kind float, found int"),
    "two": ("Cube(x, x)", "test.two.Cube takes 1 input (x), found 2"),
    "none": ("Cube()", "test.none.Cube needs the input `x`"),
}


@pytest.mark.parametrize("name", NODES)
def test_a_node_that_does_not_fit(name: str, tmp_path: Path, capsys: Capture) -> None:
    node, message = NODES[name]
    printed = compiling(capsys, tmp_path, name, CUBE + "return graph.ReluOp(x)", node=node)
    assert printed.startswith(f"error[invalid-model]: {message}")
    assert '--> m.onnx: node "Cube#0"' in printed and f"by cube, {tmp_path}/{name}.py:2" in printed


def test_an_attribute_that_the_plugin_requires(tmp_path: Path, capsys: Capture) -> None:
    plugin = CUBE.replace("scale=1.0", "scale") + "return graph.ReluOp(x)"
    printed = compiling(capsys, tmp_path, "required", plugin, node="Cube(x)")
    assert printed.startswith("error[invalid-model]: test.required.Cube needs the attribute `scale`")


@pytest.mark.parametrize(
    ("registered", "nearest"),
    [('"test.near", "Cbue"', "test.near.Cbue"), ('"test.naer", "Cube"', "test.naer.Cube")],
)
def test_the_nearest_operator_of_a_plugin(
    registered: str, nearest: str, tmp_path: Path, capsys: Capture
) -> None:
    plugin = f"@onnx_op({registered})\ndef cube(rewriter, x):\n    return graph.ReluOp(x)\n"
    printed = compiling(capsys, tmp_path, "near", plugin)
    assert printed.startswith("error[unsupported-op]: no conversion for test.near.Cube")
    assert f"; did you mean {nearest}, which a plugin has registered?" in printed


def test_two_plugins_for_one_operator(tmp_path: Path, capsys: Capture) -> None:
    plugin = CUBE + "return graph.ReluOp(x)"
    printed = compiling(capsys, tmp_path, "again", plugin, f"\n{plugin}")
    assert printed.startswith("error[name-taken]: there is an operator named 'test.again.Cube' already")
    assert f"--> {tmp_path}/again1.py:3" in printed
    assert f"it is cube, {tmp_path}/again.py:2" in printed


OP = '@op("{name}")\nclass AOp(Op):\n    x = operand_def(TensorType)\n    result = result_def(TensorType)\n'
FUNCTION = "def f(rewriter, x):\n    return graph.ReluOp(x)\n"

DECORATORS = {
    "op_twice": (
        OP.format(name="test_twice.a") + OP.format(name="test_twice.a").replace("AOp", "BOp"),
        "name-taken",
        "there is an op named 'test_twice.a' already",
        ":6",
    ),
    "op_of_ours": (OP.format(name="graph.a"), "name-taken", "there is a dialect named 'graph' already", ":2"),
    "op_of_xdsl": (OP.format(name="arith.a"), "name-taken", "there is a dialect named 'arith' already", ":2"),
    "op_name": (OP.format(name="a"), "bad-plugin", "a name has a dialect and a word", ":2"),
    "op_bare": (OP.replace('("{name}")', ""), "bad-plugin", '@op needs a name: @op("acme.cube")', ":2"),
    "op_function": (
        '@op("test.a")\n' + FUNCTION,
        "bad-plugin",
        "@op decorates a class that inherits from",
        ":2",
    ),
    "op_class": ('@op("test.a")\nclass A: pass', "bad-plugin", "found class A", ":2"),
    "op_field": (
        OP.format(name="test_field.a") + "    number = 3\n",
        "bad-plugin",
        "the definition of test_field.a is not valid: ",
        ":2",
    ),
    "op_format": (
        OP.format(name="test_format.a") + '    assembly_format = "$nothing"\n',
        "bad-plugin",
        "the definition of test_format.a is not valid: ",
        ":2",
    ),
    "lower_twice": (
        OP.format(name="test_lower.a") + f"@lower(AOp)\n{FUNCTION}@lower(AOp)\n{FUNCTION}",
        "name-taken",
        "there is a lowering of 'test_lower.a' already",
        ":9",
    ),
    "lower_level": (
        OP.format(name="test_level.a") + f'@lower(AOp, to="loops")\n{FUNCTION}',
        "bad-plugin",
        "@lower lowers test_level.a to the level graph, found 'loops'",
        ":6",
    ),
    "lower_bare": (
        f"@lower\n{FUNCTION}",
        "bad-plugin",
        "@lower needs the class of an op, found <function f",
        ":2",
    ),
    "lower_name": (
        f'@lower("test.a")\n{FUNCTION}',
        "bad-plugin",
        "@lower needs the class of an op, found 'test.a'",
        "",
    ),
    "lower_class": (
        OP.format(name="test_class.a") + "@lower(AOp)\nclass A: pass\n",
        "bad-plugin",
        "@lower decorates a function or a rewrite pattern, found <class",
        ":6",
    ),
    "onnx_op_class": (
        '@onnx_op("test.a", "A")\nclass A: pass',
        "bad-plugin",
        "@onnx_op decorates a function, an op class or a rewrite pattern",
        ":2",
    ),
    "onnx_op_number": ('onnx_op("test.a", "A")(3)', "bad-plugin", "rewrite pattern, found 3", ""),
    "onnx_op_opset": (
        f'@onnx_op("test.a", "A", since=0)\n{FUNCTION}',
        "bad-plugin",
        "@onnx_op has a domain and a name as text, and an opset from 1 on, found 'test.a', 'A', since=0",
        ":2",
    ),
    "onnx_op_types": (
        '@onnx_op("test.a", "A", types=f32)\nclass ALowering(RewritePattern): 0',
        "bad-plugin",
        "the pattern ALowering gives its results their types: declare none",
        ":2",
    ),
    "lower_ours": (
        f"@lower(graph.ReluOp)\n{FUNCTION}",
        "bad-plugin",
        "@lower is for ops of plugins, and graph.relu is none",
        ":2",
    ),
    "onnx_op_bare": (f"@onnx_op\n{FUNCTION}", "bad-plugin", "TypeError: ", ":2"),
    "onnx_op_undefined": (
        '@op("test_undefined.a")\n@onnx_op("test.a", "A")\nclass A(Op): pass',
        "bad-plugin",
        "class A has no definition yet",
        ":2",
    ),
    "onnx_op_standard": (
        f'@onnx_op("", "Relu")\n{FUNCTION}',
        "name-taken",
        "Relu is an operator of ONNX, which has its conversion already",
        ":2",
    ),
    "onnx_op_rewriter": (
        '@onnx_op("test.a", "A")\ndef f(x): return x',
        "bad-plugin",
        "the first parameter of a lowering is `rewriter`, found 'x'",
        ":2",
    ),
    "onnx_op_none": (
        '@onnx_op("test.a", "A")\ndef f(): pass',
        "bad-plugin",
        "is `rewriter`, it has none",
        ":2",
    ),
    "pass_function": (f"@register_pass\n{FUNCTION}", "bad-plugin", "@register_pass decorates a class", ":2"),
    "pass_names": (
        '@register_pass("a-pass")\nclass A(Pass):\n    name = "b-pass"\n    def apply(self, ctx, op): pass\n',
        "bad-plugin",
        "class A is registered as 'a-pass', and its `name` is 'b-pass'",
        ":2",
    ),
    "backend_bare": (
        "@register_backend\nclass A: pass",
        "bad-plugin",
        "@register_backend needs a name",
        ":2",
    ),
    "backend_class": (
        '@register_backend("a")\nclass A: pass',
        "bad-plugin",
        "with a method `load`, found",
        ":2",
    ),
    "backend_names": (
        '@register_backend("a")\nclass A:\n    name = "b"\n    def load(self, code): pass\n',
        "bad-plugin",
        "it is registered as 'a', and its `name` is 'b'",
        ":2",
    ),
    "backend_ours": (
        '@register_backend("reference")\nclass A:\n    def load(self, code): pass\n',
        "name-taken",
        "there is a backend named 'reference' already",
        ":2",
    ),
}


@pytest.mark.parametrize("name", DECORATORS)
def test_a_decorator_on_the_wrong_object(name: str, tmp_path: Path, capsys: Capture) -> None:
    code, error, message, line = DECORATORS[name]
    plugin = written(tmp_path / f"{name}.py", PRELUDE + code)
    printed = shown_error(capsys, opt.main, "--load", plugin, "--list-passes")
    assert printed.startswith(f"error[{error}]: ") and message in printed
    assert f"--> {plugin}{line}\n" in f"{printed}\n" if line else str(plugin) in printed


def test_what_a_plugin_registers_before_it_fails_is_forgotten(tmp_path: Path, capsys: Capture) -> None:
    plugin = CUBE.format(domain="test.mended") + "return graph.ReluOp(x)\n"
    file = written(tmp_path / "mended_operator.py", f"{PRELUDE}{plugin}[][1]\n")
    assert "IndexError" in shown_error(capsys, opt.main, "--load", file, "--list-passes")
    written(file, f"{PRELUDE}\n{plugin}")
    assert opt.main(["--load", str(file), "--list-passes"]) == 0


@pytest.mark.parametrize(("uses", "is_cut"), [(1, False), (5, False), (6, True)])
def test_the_first_five_nodes_without_a_lowering_are_listed(uses: int, is_cut: bool) -> None:
    nodes = " ".join(f"[mix_{i}] y{i} = test.none.Mix(x)" for i in range(uses))
    results = ", ".join(f"float[3] y{i}" for i in range(uses))
    module, ctx = imported(
        onnx_model(f"g (float[3] x) => ({results}) {{ {nodes} }}", header=', "test.none" : 1')
    )
    with pytest.raises(StepwellError) as raised:
        run_pipeline(module, "convert-onnx-to-graph", ctx)
    line = raised.value.notes[0]
    assert all(f"mix_{i}" in line for i in range(min(uses, 5))) and "mix_5" not in line
    assert ("…" in line) == is_cut
