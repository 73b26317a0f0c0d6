"""`stepwell.te`: operators as formulas for one element, and their conversion to `graph.expression`."""
