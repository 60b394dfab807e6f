"""Marian, the Transformer behind many public translators: `generate` of `transformers`, and CTranslate2.

Both compute with the same random weights, at our sizes, on our ids. Marian is post-norm, so it lacks our last
two LayerNorms; it also adds a bias to the logits. CTranslate2 is an engine in C++ for generation alone.
"""

import importlib.util
import tempfile
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.models.seq2seq import init_weights
from course_lib.text.tokenizers import BOS, EOS, PAD, UNK

NEVER = -1e4  # bias on the logit of EOS: no system stops early


def absent(name: str, device: str) -> str:
    """Why this package, transformers or ctranslate2, cannot be measured on the device; empty if it can."""
    lacking = [one for one in dict.fromkeys(("transformers", name)) if importlib.util.find_spec(one) is None]
    if lacking:
        return f"{' and '.join(lacking)} not installed"
    return "measured on the CPU alone" if name == "ctranslate2" and device != "cpu" else ""


def marian(
    vocab: int,
    d_model: int = 256,
    heads: int = 4,
    d_ff: int = 1024,
    layers: int = 2,
    max_tokens: int = 128,
) -> nn.Module:
    """A `MarianMTModel` in evaluation mode; source, target and output share one embedding matrix."""
    from course_lib.pretrained.torchvision_ops import transformers

    library = transformers()
    config = library.MarianConfig(
        vocab_size=vocab,
        d_model=d_model,
        max_position_embeddings=max_tokens,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=d_ff,
        decoder_ffn_dim=d_ff,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )
    model = library.MarianMTModel(config).eval()
    init_all_but_positions(model.model)
    model.final_logits_bias[:, EOS] = NEVER
    return model


def init_all_but_positions(model: nn.Module) -> None:
    """Random weights as ours; Marian's frozen positions are an embedding, too, and stay as they are."""
    for module in model.modules():
        if all(p.requires_grad for p in module.parameters(recurse=False)):
            init_weights(module)


@torch.inference_mode()
def greedy(model: nn.Module, source: Tensor, tokens: int) -> Tensor:
    """Generate `tokens` tokens with Marian's own `generate`, which has a KV cache."""
    written = model.generate(
        source,
        attention_mask=(source != PAD).long(),
        max_new_tokens=tokens,
        num_beams=1,
        do_sample=False,
        use_cache=True,
    )
    return written[:, 1:]


class CTranslate2:
    """CTranslate2 with the weights of a Marian model, on the CPU.

    precision: "float32", or "int8" for matrices in 8-bit integers. It takes as many threads as PyTorch has
    when this is made.
    """

    def __init__(self, model: nn.Module, precision: str):
        import ctranslate2

        self.words = [str(i) for i in range(model.config.vocab_size)]
        with tempfile.TemporaryDirectory() as folder:
            specification(model, self.words).save(folder)
            self.translator = ctranslate2.Translator(
                folder,
                device="cpu",
                compute_type=precision,
                inter_threads=1,
                intra_threads=torch.get_num_threads(),
            )

    def greedy(self, source: Tensor, tokens: int) -> list[list[int]]:
        """Generate `tokens` tokens; the words of CTranslate2 are our ids as text."""
        texts = [[self.words[i] for i in ids if i != PAD] for ids in source.tolist()]
        found = self.translator.translate_batch(texts, beam_size=1, max_decoding_length=tokens)
        return [[int(word) for word in one.hypotheses[0]] for one in found]


def specification(model: nn.Module, words: list[str]) -> Any:
    """The model as CTranslate2 stores it.

    CTranslate2's converter for Marian drops the last word, and starts from a zero embedding in the place of
    BOS; the one for BART, which it extends, does neither.
    """
    from ctranslate2.converters.transformers import BartLoader

    model.config.normalize_before = model.config.normalize_embedding = False
    loader = BartLoader()
    found = loader.get_model_spec(model)
    loader.set_vocabulary(found, words)
    config = found.config
    config.bos_token = config.decoder_start_token = words[BOS]
    config.eos_token, config.unk_token = words[EOS], words[UNK]
    found.validate()
    found.optimize()
    return found
