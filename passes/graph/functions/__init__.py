"""Passes about functions and blocks: inlining, unused functions, normal forms."""
