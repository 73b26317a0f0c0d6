"""Tests in environments of their own, made by pip (`make test-runtime`)."""
