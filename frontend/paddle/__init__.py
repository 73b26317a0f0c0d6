"""Inference programs of Paddle: a bounded reader of programs and of their parameters, without Paddle."""
