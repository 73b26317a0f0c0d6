"""Tests that need a framework; `make frontends` installs it and runs them."""
