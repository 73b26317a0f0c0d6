"""Values that live between calls: binding of arguments and results, writes in place."""
