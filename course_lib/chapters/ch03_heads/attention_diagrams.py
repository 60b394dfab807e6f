"""Diagrams of attention: queries, keys and values; heads side by side; splitting into heads."""

from course_lib.viz.figures import show_picture


def diagram_qkv() -> None:
    """Show one head at work: project to queries, keys and values; score, softmax, average."""
    show_picture(__file__, "qkv")


def diagram_heads() -> None:
    """Show multi-head attention: two heads side by side, concatenated and mixed by the output projection."""
    show_picture(__file__, "heads")


def diagram_split_heads() -> None:
    """Show how Q, K or V of shape (tokens, d_model) is split into heads and merged again."""
    show_picture(__file__, "split_heads")
