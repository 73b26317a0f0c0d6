"""Passes for models that are run, not trained: folding of scales, merged contractions, lower precision."""
