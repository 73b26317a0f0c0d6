"""JAX's exported functions, and jitted functions, which are exported here, as modules of level 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.stablehlo.read import module_of_text
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed


def read_exported(exported: Any, ctx: StepwellContext) -> ModuleOp:
    """
    A `jax.export.Exported` as a module of level 0, its sizes under the names of its symbolic shapes.

    Raises: StepwellError `missing-package`, `unsupported`, `invalid-model`.
    """
    with needed("a function of JAX", install="'stepwell[jax]'"):
        mlir: Any = import_module("jax._src.interpreters.mlir")
        ir: Any = import_module("jaxlib.mlir.ir")
    with mlir.make_ir_context():
        operation = ir.Module.parse(exported.mlir_module()).operation
        text = operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
    names = _argument_names(exported)
    labels = {
        position: (names[position], [_dim(size) for size in aval.shape])
        for position, aval in enumerate(exported.in_avals)
    }
    return module_of_text(str(text), ctx, str(exported.fun_name), labels)


def read_jitted(
    function: Any, ctx: StepwellContext, *, example_inputs: object = None, dynamic_shapes: object = None
) -> ModuleOp:
    """
    A jitted function, exported for inputs like examples, as a module of level 0.

    Args: `dynamic_shapes` has the names of open sizes by argument and dimension: `{0: {0: "b"}}`.
    Raises: StepwellError `export-failed`, `bad-model`, and as `read_exported`.
    """
    with needed("a function of JAX", install="'stepwell[jax]'"):
        jax: Any = import_module("jax")
        export: Any = import_module("jax.export")
    if not isinstance(example_inputs, Sequence):
        raise StepwellError(
            "bad-model", None, "example_inputs must be a tuple, with a value for each argument"
        )
    arguments = list(cast("Sequence[Any]", example_inputs))
    names = cast("Mapping[int, Mapping[int, str]]", dynamic_shapes or {})
    scope = export.SymbolicScope()

    def specification(argument: Any, given: Mapping[int, str]) -> Any:
        leaves, tree = jax.tree.flatten(argument)
        return jax.tree.unflatten(tree, [_spec(jax, export, leaf, given, scope) for leaf in leaves])

    specs = [specification(argument, names.get(i, {})) for i, argument in enumerate(arguments)]
    try:
        exported = export.export(function)(*specs)
    except Exception as error:  # functions of users and JAX's tracing raise anything
        lines = str(error).strip().splitlines()
        message = f"JAX cannot export the function: {type(error).__name__}"
        raise StepwellError("export-failed", None, message, note=lines[:3]) from error
    return read_exported(exported, ctx)


def _spec(jax: Any, export: Any, leaf: Any, names: Mapping[int, str], scope: Any) -> Any:
    """The shape and type of an example, with names for open sizes."""
    array = jax.numpy.asarray(leaf)
    sizes = [names.get(axis, str(size)) for axis, size in enumerate(array.shape)]
    shape = export.symbolic_shape(",".join(sizes), scope=scope) if names else array.shape
    return jax.ShapeDtypeStruct(shape, array.dtype)


def _argument_names(exported: Any) -> list[str]:
    """The names of the leaves of the arguments: `x` is not known to an exported function, `arg0` is."""
    jax: Any = import_module("jax")
    leaves = jax.tree_util.tree_unflatten(exported.in_tree, list(range(len(exported.in_avals))))
    found = jax.tree_util.tree_flatten_with_path(leaves)[0]
    names = ["" for _ in exported.in_avals]
    for path, position in found:
        parts = [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path[1:]]
        is_keyword = len(path) > 1 and parts[0] != str(getattr(path[1], "idx", None)) and path[0].idx == 1
        names[position] = ".".join(parts) if is_keyword else ".".join([f"arg{parts[0]}", *parts[1:]])
    return names


def _dim(size: Any) -> Dim:
    """A size of JAX, which may be an expression (`2*b + 1`)."""
    return Dim.of(size) if isinstance(size, int) else Dim.of(str(size))
