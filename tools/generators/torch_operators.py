"""`docs/frontends/torch-operators.md`: the overloads of PyTorch that are converted, by family."""

from __future__ import annotations

from collections import defaultdict
from importlib import import_module

from stepwell.dialects.torch import TABLE
from stepwell.lowering.torch_to_graph import FAMILIES, converted_overloads, family_of

PAGE = "frontends/torch-operators.md"


def torch_operators_page(generated: str) -> str:
    """
    The page.

    Args: `generated` is the line that marks generated pages.
    """
    converted = converted_overloads()
    families: dict[str, dict[str, list[str]]] = {name: defaultdict(list) for name in sorted(FAMILIES)}
    for name in sorted(converted):
        _, packet, overload = name.split(".")
        families[family_of(name)][packet].append(overload)
    lines = [
        "# Which operators of PyTorch are converted",
        "",
        generated,
        "",
        f"The {len(converted)} overloads of torch's `aten` library with a conversion to level 1,",
        f"of {len(TABLE)} in the table of the `torch` dialect. Others are written as simpler ones by torch,",
        "where it has a rule for it, when a module or a program is compiled; the rest is one error.",
    ]
    for family, packets in families.items():
        title = (import_module(f"stepwell.lowering.torch_to_graph.{family}").__doc__ or family).strip()
        names = [f"{packet} ({', '.join(overloads)})" for packet, overloads in packets.items()]
        lines += ["", f"## {title.rstrip('.')}", "", f"{', '.join(f'`{name}`' for name in names)}"]
    return "\n".join(lines) + "\n"
