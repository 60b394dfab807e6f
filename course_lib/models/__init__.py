"""Models: the encoder-decoder translator, GPT with interventions, a text encoder, ViT, a UNet."""

from course_lib.utils.lazy import lazy_exports

_EXPORTS = {
    "gpt": ["GPT", "GPTConfig"],
    "interventions": ["ablate_head", "patch_residuals", "patching_map", "residual_stream"],
    "seq2seq": ["Seq2Seq", "Seq2SeqConfig"],
    "text_encoder": ["EncoderConfig", "TextEncoder"],
    "unet": ["UNet", "UNetConfig"],
    "vit": ["ViT", "ViTConfig"],
}
__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
