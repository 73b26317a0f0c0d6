"""Values that live between calls: which arguments and results are they, and where they are written."""
