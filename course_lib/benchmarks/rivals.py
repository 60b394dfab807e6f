"""`Seq2Seq` on PyTorch's own layers, as an expert would write it, and the one of "Dive into Deep Learning".

The package d2l has the encoder; the decoder is the lecture's (`course_lib.lectures.d2l_transformer`), with
its bugs: the causal mask applies in training only; a block caches its inputs and projects keys and values
again at each step; every generated token gets position 0.
"""

import importlib.util
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.layers.masks import causal_mask
from course_lib.layers.positions import SinusoidalPositions
from course_lib.models.seq2seq import Seq2SeqConfig, init_weights
from course_lib.text.tokenizers import BOS, PAD

LABEL_SMOOTHING = 0.1


class TorchTransformer(nn.Module):
    """Pre-norm `nn.Transformer` with one embedding matrix for source, target and output.

    inner_dropout: whether the layers also drop attention weights and hidden units, as they do by default;
    without it, dropout is exactly where `Seq2Seq` has it.
    """

    def __init__(self, config: Seq2SeqConfig, inner_dropout: bool = True):
        super().__init__()
        self.d_model = width = config.d_model
        self.embedding = nn.Embedding(config.vocab, width)
        self.positions = SinusoidalPositions(config.max_tokens, width)
        self.dropout = nn.Dropout(config.dropout)
        form = {
            "dim_feedforward": config.d_ff,
            "dropout": config.dropout,
            "batch_first": True,
            "norm_first": True,
        }
        layer, norm = nn.TransformerEncoderLayer(width, config.heads, **form), nn.LayerNorm(width)
        encoder = nn.TransformerEncoder(layer, config.encoder_layers, norm, enable_nested_tensor=False)
        depth = {"num_decoder_layers": config.decoder_layers, "custom_encoder": encoder}
        self.transformer = nn.Transformer(width, config.heads, **depth, **form)
        self.apply(init_weights)
        if not inner_dropout:
            for module in self.modules():
                if isinstance(module, nn.MultiheadAttention):
                    module.dropout = 0.0
                elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                    module.dropout = nn.Identity()

    def embed(self, ids: Tensor, start: int = 0) -> Tensor:
        return self.dropout(self.positions(self.embedding(ids) * math.sqrt(self.d_model), start))

    def output_logits(self, states: Tensor) -> Tensor:
        return F.linear(states, self.embedding.weight)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits of the token that follows each token of `target`."""
        hidden = source == PAD
        states = self.transformer(
            self.embed(source),
            self.embed(target),
            tgt_mask=~causal_mask(target.shape[1], device=target.device),
            src_key_padding_mask=hidden,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        return self.output_logits(states)


class D2LTransformer(nn.Module):
    """The lecture's post-norm encoder and decoder in d2l's `EncoderDecoder`.

    As in our model, attention has biases, and source, target and output share one embedding matrix.
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        from course_lib.lectures.d2l_transformer import TransformerDecoder, TransformerEncoder, d2l

        vocab, width = config.vocab, config.d_model
        sizes = (vocab, width, config.d_ff, config.heads, config.encoder_layers, config.dropout)
        encoder = TransformerEncoder(*sizes, use_bias=True)
        decoder = TransformerDecoder(*sizes, use_bias=True)
        nn.init.normal_(encoder.embedding.weight, std=width**-0.5)
        decoder.embedding = encoder.embedding
        decoder.dense = nn.Linear(width, vocab, bias=False)
        decoder.dense.weight = encoder.embedding.weight
        self.system = d2l.EncoderDecoder(encoder, decoder)
        ids = torch.full((1, 2), BOS)
        self(ids, ids)  # d2l's layers learn their sizes from their first input

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits of the token that follows each token of `target`; causal in training mode only."""
        return self.system(source, target, (source != PAD).sum(dim=1))


def d2l_absent() -> str:
    """Why d2l cannot be measured here; empty if it can."""
    lacking = [name for name in ("d2l", "torchvision") if importlib.util.find_spec(name) is None]
    return f"{' and '.join(lacking)} not installed" if lacking else ""


class PaddedLoss(nn.Module):
    """The usual loss over a padded batch: logits for all positions, padding ignored by the loss."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Sum of the losses and their number, as `TranslationLoss` returns them."""
        logits, labels = self.model(source, target[:, :-1]).flatten(0, 1), target[:, 1:].flatten()
        form = {"ignore_index": PAD, "label_smoothing": LABEL_SMOOTHING, "reduction": "sum"}
        return F.cross_entropy(logits, labels, **form), (labels != PAD).sum()


def first_tokens(source: Tensor) -> Tensor:
    """The BOS that each translation begins with."""
    return torch.full((len(source), 1), BOS, device=source.device)


def extended(ids: Tensor, tokens: int, last_logits: Callable[[Tensor], Tensor]) -> Tensor:
    """Greedy decoding without a cache. last_logits: of the next token, from all ids so far."""
    for _ in range(tokens):
        ids = torch.cat([ids, last_logits(ids).argmax(dim=-1, keepdim=True)], dim=1)
    return ids


@torch.inference_mode()
def greedy_recomputing(model: TorchTransformer, source: Tensor, tokens: int) -> Tensor:
    """Generate `tokens` tokens; the encoder runs once, the decoder runs on the whole prefix each time."""
    hidden = source == PAD
    memory = model.transformer.encoder(model.embed(source), src_key_padding_mask=hidden)

    def last_logits(ids: Tensor) -> Tensor:
        mask = ~causal_mask(ids.shape[1], device=ids.device)
        form = {"tgt_mask": mask, "memory_key_padding_mask": hidden, "tgt_is_causal": True}
        return model.output_logits(model.transformer.decoder(model.embed(ids), memory, **form)[:, -1])

    return extended(first_tokens(source), tokens, last_logits)[:, 1:]


@torch.inference_mode()
def greedy_last_token(model: TorchTransformer, source: Tensor, tokens: int) -> Tensor:
    """Generate `tokens` tokens; only the last one passes through the layers, whose earlier inputs are cached.

    This is the most that `nn.TransformerDecoderLayer` allows without rewriting attention: it still projects
    keys and values of all earlier tokens, and of the memory, at each step.
    """
    hidden, decoder = source == PAD, model.transformer.decoder
    memory = model.transformer.encoder(model.embed(source), src_key_padding_mask=hidden)
    kept: list[Tensor | None] = [None] * len(decoder.layers)
    written = [first_tokens(source)]
    for position in range(tokens):
        x = model.embed(written[-1], position)
        for i, layer in enumerate(decoder.layers):
            new, earlier = layer.norm1(x), kept[i]
            kept[i] = seen = new if earlier is None else torch.cat([earlier, new], dim=1)
            x = x + layer.self_attn(new, seen, seen, need_weights=False)[0]
            padding = {"key_padding_mask": hidden, "need_weights": False}
            x = x + layer.multihead_attn(layer.norm2(x), memory, memory, **padding)[0]
            x = x + layer.linear2(layer.activation(layer.linear1(layer.norm3(x))))
        written.append(model.output_logits(decoder.norm(x)[:, -1]).argmax(-1, keepdim=True))
    return torch.cat(written[1:], dim=1)


@torch.inference_mode()
def greedy_d2l(model: D2LTransformer, source: Tensor, tokens: int) -> Tensor:
    """Generate `tokens` tokens with d2l's own `predict_step`."""
    start = first_tokens(source)
    batch = (source, start, (source != PAD).sum(dim=1), start)  # d2l ignores the last one
    return model.system.predict_step(batch, source.device, tokens)[0]
