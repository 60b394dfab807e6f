"""The norms of a block."""

from torch import nn


def norms(block: nn.Module) -> list[nn.LayerNorm]:
    """Its LayerNorms, in the order in which a token meets them."""
    return [child for child in block.children() if isinstance(child, nn.LayerNorm)]
