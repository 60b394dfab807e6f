"""Diagram of attention masks: padding and causal mask combined, and what a mask does to one row of scores."""

from course_lib.viz.figures import show_picture


def diagram_masks() -> None:
    """Show a padding mask, a causal mask and both combined; below, one row of scores masked."""
    show_picture(__file__, "masks")
