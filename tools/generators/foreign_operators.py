"""Generated pages of the operators of other frameworks that are converted, by family."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from importlib import import_module

from stepwell.dialects import coreml, mxnet, paddle, stablehlo, tflite
from stepwell.dialects.foreign import OpTable
from stepwell.lowering import (
    coreml_to_graph,
    mxnet_to_graph,
    paddle_to_graph,
    stablehlo_to_graph,
    tflite_to_graph,
)
from stepwell.lowering.to_graph import Families

TFLITE_PAGE, STABLEHLO_PAGE = "frontends/tflite-operators.md", "frontends/stablehlo-operations.md"


def tflite_page(generated: str) -> str:
    """The page of TFLite. Args: `generated` is the line that marks generated pages."""
    converted = tflite_to_graph.converted_operators()
    control = ", ".join(f"`{name}`" for name in tflite.CONTROL)
    text = (
        f"The {len(converted)} builtin operators of TFLite with a conversion to level 1, of "
        f"{len(tflite.TABLE)}\nin the table of the `tflite` dialect, beside {control},\n"
        "which the reader makes regions and states of. A model with others is refused with all their names."
    )
    names = ("Which operators of TFLite are converted", generated, text)
    return _page(names, tflite_to_graph.FAMILIES, tflite_to_graph.family_of, converted, "tflite_to_graph")


def stablehlo_page(generated: str) -> str:
    """The page of StableHLO. Args: `generated` is the line that marks generated pages."""
    converted = stablehlo_to_graph.converted_operations()
    text = (
        f"The {len(converted)} operations of StableHLO with a conversion to level 1, of "
        f"{len(stablehlo.TABLE)} in the\ntable of the `stablehlo` dialect, beside `while`, `if` and `case`."
    )
    names = ("Which operations of StableHLO are converted", generated, text)
    families, family_of = stablehlo_to_graph.FAMILIES, stablehlo_to_graph.family_of
    return _page(names, families, family_of, converted, "stablehlo_to_graph")


def foreign_pages(generated: str) -> dict[str, str]:
    """The pages of frameworks whose pass is one of an op table. Args: `generated` as above."""
    tables = {
        ("coreml", "operations", "Core ML"): (coreml.TABLE, coreml_to_graph.FAMILIES),
        ("mxnet", "operators", "MXNet"): (mxnet.TABLE, mxnet_to_graph.FAMILIES),
        ("paddle", "operators", "Paddle"): (paddle.TABLE, paddle_to_graph.FAMILIES),
    }
    return {
        f"frontends/{dialect}-{what}.md": _table_page((dialect, f"{what} of {framework}"), generated, *parts)
        for (dialect, what, framework), parts in tables.items()
    }


def _table_page(names: tuple[str, str], generated: str, table: OpTable, families: Families) -> str:
    """A page. Args: `names` are those of the dialect and of its operators."""
    dialect, title = names
    converted = families.converted()
    text = (
        f"The {len(converted)} {title} with a conversion to level 1, of {len(table)} in the table\n"
        f"of the `{dialect}` dialect. A model with others is refused with all their names."
    )
    heads = (f"Which {title} are converted", generated, text)
    return _page(heads, families.names, families.family_of, converted, f"{dialect}_to_graph")


def _page(
    names: Sequence[str],
    families: Sequence[str],
    family_of: Callable[[str], str],
    converted: Collection[str],
    folder: str,
) -> str:
    """A page: title, mark and introduction, then the names by family."""
    title, generated, text = names
    homeless = [name for name in converted if family_of(name) not in families]
    assert not homeless, f"no file of {folder} enters {homeless}"
    lines = [f"# {title}", "", generated, "", text]
    for family in sorted(families):
        module = import_module(f"stepwell.lowering.{folder}.{family}")
        found = sorted(name for name in converted if family_of(name) == family)
        heading = (module.__doc__ or family).strip().rstrip(".")
        lines += ["", f"## {heading}", "", ", ".join(f"`{name}`" for name in found)]
    return "\n".join(lines) + "\n"
