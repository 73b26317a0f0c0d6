"""Functions and estimators that are compiled at their calls, and the pages about them."""
