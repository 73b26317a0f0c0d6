"""Tests with browsers, editors and shells: `make explore`."""
