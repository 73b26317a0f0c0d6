"""Choices of strategies for the nodes of a model."""
