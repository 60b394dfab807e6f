"""The Transformer of "Dive into Deep Learning" at any size, with its own decoding.

The package d2l has the encoder; the decoder is the lecture's (`course_lib.lectures.d2l_transformer`), with
its bugs: the causal mask applies in training only; a block caches its inputs and projects keys and values
again at each step; every generated token gets position 0.
"""

import importlib.util

import torch
from torch import Tensor, nn

from course_lib.text.tokenizers import BOS, PAD

NEEDED = ("d2l", "torchvision")


def absent() -> str:
    """Why d2l cannot be measured here; empty if it can."""
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return f"{' and '.join(lacking)} not installed" if lacking else ""


class D2LTransformer(nn.Module):
    """The lecture's encoder and decoder in d2l's `EncoderDecoder`.

    As in our model, attention has biases, and source, target and output share one embedding matrix.
    """

    def __init__(
        self,
        vocab: int,
        d_model: int = 256,
        heads: int = 4,
        d_ff: int = 1024,
        layers: int = 2,
        max_tokens: int = 128,
        dropout: float = 0.1,
    ):
        super().__init__()
        from course_lib.lectures.d2l_transformer import TransformerDecoder, TransformerEncoder, d2l

        sizes = (vocab, d_model, d_ff, heads, layers, dropout)
        encoder = TransformerEncoder(*sizes, use_bias=True)
        decoder = TransformerDecoder(*sizes, use_bias=True)
        nn.init.normal_(encoder.embedding.weight, std=d_model**-0.5)
        decoder.embedding = encoder.embedding
        decoder.dense = nn.Linear(d_model, vocab, bias=False)
        decoder.dense.weight = encoder.embedding.weight
        self.system = d2l.EncoderDecoder(encoder, decoder)
        ids = torch.full((1, 2), BOS)
        self(ids, ids)  # d2l's layers learn their sizes from their first input

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits of the token that follows each token of `target`; causal in training mode only."""
        return self.system(source, target, (source != PAD).sum(dim=1))


@torch.inference_mode()
def greedy(model: D2LTransformer, source: Tensor, tokens: int) -> Tensor:
    """Generate `tokens` tokens with d2l's own `predict_step`."""
    start = torch.full((len(source), 1), BOS, device=source.device)
    batch = (source, start, (source != PAD).sum(dim=1), start)  # d2l ignores the last one
    return model.system.predict_step(batch, source.device, tokens)[0]
