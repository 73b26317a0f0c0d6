"""Gradients by reverse mode, and what training needs around them."""
