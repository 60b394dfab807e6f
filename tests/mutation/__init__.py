"""Mutation testing of the core modules: `python tests/mutation` (see `__main__.py`)."""
