"""Integers that are known in part: ranges, congruences, proofs of comparisons, regions, bijections."""
