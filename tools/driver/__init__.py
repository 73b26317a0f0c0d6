"""The compilation driver: options, the levels from model to image, dumps."""
