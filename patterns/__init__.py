"""The dataflow pattern language: patterns, matching, rewriting, partitioning, and their text."""

from stepwell.patterns.edges import GraphPattern as GraphPattern
from stepwell.patterns.explain import Explanation as Explanation
from stepwell.patterns.explain import explain as explain
from stepwell.patterns.matching import Match as Match
from stepwell.patterns.matching import match as match
from stepwell.patterns.nodes import FunctionPattern as FunctionPattern
from stepwell.patterns.nodes import Pattern as Pattern
from stepwell.patterns.nodes import dominates as dominates
from stepwell.patterns.nodes import is_constant as is_constant
from stepwell.patterns.nodes import is_expr as is_expr
from stepwell.patterns.nodes import is_if as is_if
from stepwell.patterns.nodes import is_let as is_let
from stepwell.patterns.nodes import is_op as is_op
from stepwell.patterns.nodes import is_tuple as is_tuple
from stepwell.patterns.nodes import is_tuple_get_item as is_tuple_get_item
from stepwell.patterns.nodes import is_var as is_var
from stepwell.patterns.nodes import wildcard as wildcard
from stepwell.patterns.partition import partition as partition
from stepwell.patterns.read_text import PatternFile as PatternFile
from stepwell.patterns.read_text import TableEntry as TableEntry
from stepwell.patterns.read_text import from_text as from_text
from stepwell.patterns.registry import register_callback as register_callback
from stepwell.patterns.registry import register_predicate as register_predicate
from stepwell.patterns.rewrite import Rule as Rule
from stepwell.patterns.rewrite import rewrite as rewrite
from stepwell.patterns.write_text import to_text as to_text
