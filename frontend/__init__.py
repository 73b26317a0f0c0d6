"""Model files in and out."""
