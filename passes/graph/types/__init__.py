"""Types of functional programs: instances of polymorphic functions."""
