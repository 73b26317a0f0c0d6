"""The dataflow pattern language: patterns, matching, rewriting, partitioning, and their text."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepwell.patterns.edges import GraphPattern as GraphPattern
    from stepwell.patterns.explanation import Explanation as Explanation
    from stepwell.patterns.explanation import explain as explain
    from stepwell.patterns.graph_mode import match_graph as match_graph
    from stepwell.patterns.graph_mode import rewrite_graph as rewrite_graph
    from stepwell.patterns.matching import Match as Match
    from stepwell.patterns.matching import match as match
    from stepwell.patterns.nodes import FunctionPattern as FunctionPattern
    from stepwell.patterns.nodes import Pattern as Pattern
    from stepwell.patterns.partitioning import partition as partition
    from stepwell.patterns.read_text import PatternFile as PatternFile
    from stepwell.patterns.read_text import TableEntry as TableEntry
    from stepwell.patterns.read_text import from_text as from_text
    from stepwell.patterns.registry import register_callback as register_callback
    from stepwell.patterns.registry import register_predicate as register_predicate
    from stepwell.patterns.rewriting import Rule as Rule
    from stepwell.patterns.rewriting import rewrite as rewrite
    from stepwell.patterns.spelling import dominates as dominates
    from stepwell.patterns.spelling import is_constant as is_constant
    from stepwell.patterns.spelling import is_expr as is_expr
    from stepwell.patterns.spelling import is_if as is_if
    from stepwell.patterns.spelling import is_let as is_let
    from stepwell.patterns.spelling import is_op as is_op
    from stepwell.patterns.spelling import is_tuple as is_tuple
    from stepwell.patterns.spelling import is_tuple_get_item as is_tuple_get_item
    from stepwell.patterns.spelling import is_var as is_var
    from stepwell.patterns.spelling import wildcard as wildcard
    from stepwell.patterns.write_text import to_text as to_text

_FILES = {
    "edges": "GraphPattern",
    "explanation": "Explanation explain",
    "graph_mode": "match_graph rewrite_graph",
    "matching": "Match match",
    "nodes": "FunctionPattern Pattern",
    "partitioning": "partition",
    "read_text": "PatternFile TableEntry from_text",
    "registry": "register_callback register_predicate",
    "rewriting": "Rule rewrite",
    "spelling": "dominates is_constant is_expr is_if is_let is_op is_tuple is_tuple_get_item is_var wildcard",
    "write_text": "to_text",
}


def __getattr__(name: str) -> object:
    """A name of the language, imported when it is first used: conversions need the driver alone."""
    file = next((file for file, names in _FILES.items() if name in names.split()), None)
    if file is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{file}"), name)
    globals()[name] = value
    return value
