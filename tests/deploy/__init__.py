"""Exported models on other machines: emulators."""
