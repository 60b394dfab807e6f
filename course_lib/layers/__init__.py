"""Layers: masks, positions, attention, blocks, the key-value cache, patches."""

from course_lib.utils.lazy import lazy_exports

_EXPORTS = {
    "attention": ["AdditiveAttention", "MultiHeadAttention"],
    "blocks": ["DecoderBlock", "EncoderBlock", "FeedForward", "Residual"],
    "hooks": ["record_attention"],
    "kv_cache": ["DecoderCache", "GrowingCache", "MemoryCache", "StaticCache"],
    "linear": ["Linear"],
    "lora": ["LoRALinear", "add_lora", "merge_lora"],
    "masks": ["causal_mask", "masked_softmax", "nonpad_indices", "padding_mask", "valid_lens_mask"],
    "patches": [
        "ConvolutionalPatches",
        "ConvolutionalStem",
        "Patches",
        "SinusoidalPositions2d",
        "embed_unfolded",
        "resize_positions",
        "sinusoidal_2d",
        "unfold_patches",
    ],
    "pixel_attention": ["PixelAttention"],
    "positions": [
        "LearnedPositions",
        "NoPositions",
        "RotaryPositions",
        "SinusoidalPositions",
        "rotate",
        "sinusoidal",
    ],
}
__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
