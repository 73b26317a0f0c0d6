"""Functions of JAX that are compiled when they are called, once for each set of shapes and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple, Unpack, cast

import numpy as np

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.stablehlo.jax_functions import Names, exported_function, jax_package, read_exported
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.compile import compile as compile_model
from stepwell.tools.driver.options import CompileKeywords, CompileOptions, options_with
from stepwell.tools.driver.program import Program
from stepwell.tools.frameworks.static_parameters import StaticParameters, expect_parameters, positional

Dims = Mapping[str, Mapping[int, str]]
"""Names of open sizes by parameter and dimension: `{"x": {0: "b"}}`."""


def jit(
    function: Callable[..., Any],
    *,
    dims: Dims | None = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    options: CompileOptions | None = None,
    threads: int | None = None,
    **keywords: Unpack[CompileKeywords],
) -> JitFunction:
    """
    A function of JAX as compiled code that takes and returns arrays, nested as the function's.

    It is compiled at the first call, and at each call with other shapes or types; with `dims` once for all
    sizes that have a name.

    Args: `dims` names open sizes by parameter and dimension, such as `{"x": {0: "b"}}`; two sizes with one
    name are equal; `static_argnums` and `static_argnames` are parameters whose values are part of the code,
    as of `jax.jit`: each new value compiles it again; others are as of `stepwell.compile`.
    Raises: StepwellError `missing-package`, `bad-option`; when it is called, as `stepwell.compile`.
    """
    own = ("dims", "static_argnums", "static_argnames", "options", "threads")
    chosen = options_with(options, keywords, own)
    static = StaticParameters(function, static_argnums, static_argnames)
    return JitFunction(function, dims or {}, static, chosen, threads)


class _Compiled(NamedTuple):
    """The code for one set of shapes and types."""

    model: CompiledModel
    unflatten: Callable[[Sequence[Any]], Any]


class JitFunction:
    """A function that is compiled for the shapes and types of its calls."""

    def __init__(
        self,
        function: Callable[..., Any],
        dims: Dims,
        static: StaticParameters,
        options: CompileOptions,
        threads: int | None,
    ):
        """Raises: StepwellError `bad-option` for a name of no parameter; `missing-package`."""
        self._jax = jax_package()
        self._function, self._dims, self._static = function, dims, static
        self._options, self._threads = options, threads
        expect_parameters(function, dims, "dims names the sizes of")
        self._made: dict[object, _Compiled] = {}
        self._lock = Lock()

    @property
    def models(self) -> Sequence[CompiledModel]:
        """The compiled models, one for each set of shapes and types, in the order of their first calls."""
        return [each.model for each in self._made.values()]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """
        The results, as arrays of JAX.

        Raises: StepwellError `bad-inputs` for values that JAX traces; as `stepwell.compile` and the model.
        """
        function, names = self._function, self._names(args, kwargs)
        static: object = ()
        if self._static:
            function, rest, others, names, static = self._static.split(function, args, kwargs, names)
            args, kwargs = tuple(rest), dict(others)
        leaves, tree = self._jax.tree.flatten((args, kwargs))
        arrays = [self._array(leaf) for leaf in leaves]
        open_sizes = [
            names.get(part, {}) for part, value in _parts(args, kwargs) for _ in self._jax.tree.leaves(value)
        ]
        shapes = tuple(_key(*each) for each in zip(arrays, leaves, open_sizes, strict=True))
        key = tree, shapes, static
        if (compiled := self._made.get(key)) is None:
            with self._lock:  # calls with code go on meanwhile
                if (compiled := self._made.get(key)) is None:
                    compiled = self._made[key] = self._compiled(function, args, kwargs, names)
        results = compiled.model.invoke(arrays)
        return compiled.unflatten([self._jax.numpy.asarray(each) for each in results])

    def _compiled(
        self, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], names: Names
    ) -> _Compiled:
        """The code for arguments like these. Raises: StepwellError as `stepwell.compile`."""
        exported = exported_function(function, args, kwargs, names)
        ctx = StepwellContext()
        ctx.target = self._options.description()
        program = Program(read_exported(exported, ctx), ctx)
        model = compile_model(program, self._options, threads=self._threads)
        return _Compiled(model, exported.out_tree.unflatten)

    def _names(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[int | str, Mapping[int, str]]:
        """The names of sizes by position or keyword of a call's arguments."""
        if not self._dims:
            return {}
        found: dict[int | str, Mapping[int, str]] = {}
        for (position, _), parameter in zip(enumerate(args), positional(self._function), strict=False):
            if parameter in self._dims:
                found[position] = self._dims[parameter]
        return found | {name: self._dims[name] for name in kwargs if name in self._dims}

    def _array(self, leaf: Any) -> Array:
        """An argument as an array of the type that JAX gives it. Raises: StepwellError `bad-inputs`."""
        if isinstance(leaf, self._jax.core.Tracer):
            message = "JAX traces a call of a compiled function, which has no derivative and no batches"
            help = "apply jax.jit, jax.grad or jax.vmap to the function itself, and stepwell.jax.jit last"
            raise StepwellError("bad-inputs", None, message, help=help)
        try:
            return np.asarray(self._jax.numpy.asarray(leaf))
        except TypeError as error:
            message = f"an argument is a {type(leaf).__name__}, and must be an array or a number: {error}"
            raise StepwellError("bad-inputs", None, message) from None


def _parts(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[int | str, Any]]:
    """The arguments by position or keyword, in the order in which JAX flattens them."""
    return [*enumerate(args), *((key, kwargs[key]) for key in sorted(kwargs))]


def _key(array: Array, leaf: object, names: Mapping[int, str]) -> object:
    """The shape and type of an argument, open sizes by name; a number of Python has another key."""
    shape = tuple(names.get(axis, size) for axis, size in enumerate(array.shape))
    return cast(object, (shape, array.dtype, isinstance(leaf, int | float)))
