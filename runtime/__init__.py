"""The runtime: everything that a compiled model needs; imports nothing else of Stepwell's."""
