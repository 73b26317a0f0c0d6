"""Values that live between calls: states, sessions, and the models that have them."""
