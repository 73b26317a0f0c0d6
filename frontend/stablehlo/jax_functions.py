"""JAX's exported functions, and jitted functions, which are exported here, as modules of level 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.foreign_function import example_arguments
from stepwell.frontend.stablehlo.read import module_of_text
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import needed

Names = Mapping[int | str, Mapping[int, str]]
"""Names of open sizes by argument, its position or its keyword, and dimension: `{0: {0: "b"}}`."""


def jax_package() -> Any:
    """The package jax. Raises: StepwellError `missing-package`."""
    with needed("a function of JAX", install="'stepwell[jax]'"):
        import_module("jax.export")
        return import_module("jax")


def read_exported(exported: Any, ctx: StepwellContext) -> ModuleOp:
    """
    A `jax.export.Exported` as a module of level 0, its sizes under the names of its symbolic shapes.

    Arguments that the function does not use are not in an exported program.
    Raises: StepwellError `missing-package`, `unsupported`, `invalid-model`.
    """
    jax_package()
    mlir: Any = import_module("jax._src.interpreters.mlir")
    ir: Any = import_module("jaxlib.mlir.ir")
    with mlir.make_ir_context():
        operation = ir.Module.parse(exported.mlir_module()).operation
        text = operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
    names, avals = _argument_names(exported), exported.in_avals
    kept = cast("Sequence[int]", exported.module_kept_var_idx)
    labels = {
        position: (names[number], [_dim(size) for size in avals[number].shape])
        for position, number in enumerate(kept)
    }
    return module_of_text(str(text), ctx, str(exported.fun_name), labels)


def read_jitted(
    function: Any, ctx: StepwellContext, *, example_inputs: object = None, dynamic_shapes: object = None
) -> ModuleOp:
    """
    A jitted function, exported for inputs like examples, as a module of level 0.

    Args: `example_inputs` is a tuple of arguments, or a dictionary of them by name; `dynamic_shapes` has the
    names of open sizes by argument and dimension: `{0: {0: "b"}}`.
    Raises: StepwellError `export-failed`, `bad-model`, and as `read_exported`.
    """
    args, kwargs = example_arguments(example_inputs)
    return read_exported(exported_function(function, args, kwargs, _names(dynamic_shapes)), ctx)


def exported_function(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], names: Names) -> Any:
    """
    The `jax.export.Exported` of a function, for inputs like examples, with all of its arguments.

    Raises: StepwellError `export-failed` with JAX's message; `bad-model` for a name of no argument.
    """
    jax = jax_package()
    if unknown := [name for name in names if name not in {*range(len(args)), *kwargs}]:
        known = ", ".join(map(str, [*range(len(args)), *kwargs])) or "none"
        message = f"sizes of the argument {unknown[0]!r} have names, and there is no such argument"
        raise StepwellError("bad-model", None, message, help=f"the arguments are {known}")
    scope = jax.export.SymbolicScope()

    def specification(argument: Any, given: Mapping[int, str]) -> Any:
        leaves, tree = jax.tree.flatten(argument)
        return jax.tree.unflatten(tree, [_spec(jax, leaf, given, scope) for leaf in leaves])

    positional = [specification(argument, names.get(i, {})) for i, argument in enumerate(args)]
    by_name = {key: specification(argument, names.get(key, {})) for key, argument in kwargs.items()}
    try:
        return jax.export.export(jax.jit(function, keep_unused=True))(*positional, **by_name)
    except Exception as error:  # functions of users and JAX's tracing raise anything
        lines = str(error).strip().splitlines()
        message = f"JAX cannot export the function: {type(error).__name__}"
        raise StepwellError("export-failed", None, message, note=lines[:3]) from error


def _names(shapes: object) -> Names:
    """Names of open sizes, which must be mappings. Raises: StepwellError `bad-model`."""
    if shapes is None:
        return {}
    if isinstance(shapes, Mapping):
        mapping = cast("Mapping[Any, Any]", shapes)
        if all(isinstance(each, Mapping) for each in mapping.values()):
            return mapping
    message = f"dynamic_shapes names sizes by argument and dimension, found {shapes!r:.80}"
    raise StepwellError("bad-model", None, message, help='such as {0: {0: "b"}}')


def _spec(jax: Any, leaf: Any, names: Mapping[int, str], scope: Any) -> Any:
    """The shape and type of an example, with names for open sizes."""
    array = jax.numpy.asarray(leaf)
    sizes = [names.get(axis, str(size)) for axis, size in enumerate(array.shape)]
    shape = jax.export.symbolic_shape(",".join(sizes), scope=scope) if names else array.shape
    # A Python number gets the type of the other operand.
    is_weak = isinstance(leaf, int | float) and not isinstance(leaf, bool)
    return jax.ShapeDtypeStruct(shape, array.dtype, weak_type=is_weak)


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
