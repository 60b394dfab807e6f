"""Diagrams of Transformer blocks: the residual stream, the two norm placements, what a norm averages over."""

from course_lib.viz.figures import show_picture


def diagram_block() -> None:
    """Show an encoder block as two branches of the residual stream."""
    show_picture(__file__, "block")


def diagram_norm_placements() -> None:
    """Show post-norm and pre-norm side by side."""
    show_picture(__file__, "norm_placements")


def diagram_decoder_block() -> None:
    """Show a decoder block as three branches of the residual stream, one of which reads the memory."""
    show_picture(__file__, "decoder_block")


def diagram_norm_axes() -> None:
    """Show which numbers share a mean in LayerNorm and in BatchNorm."""
    show_picture(__file__, "norm_axes")
