"""The explorer's page in a browser; `make explore` runs these tests."""
