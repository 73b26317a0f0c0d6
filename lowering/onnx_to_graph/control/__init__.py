"""Operators with subgraphs: branches, loops, scans, maps over lists."""
