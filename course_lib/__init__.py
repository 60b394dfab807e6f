"""The pieces of the Transformer course: finished, tested, and imported by the notebooks."""

__version__ = "0.1.0"
