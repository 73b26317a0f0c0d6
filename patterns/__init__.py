"""The dataflow pattern language."""
