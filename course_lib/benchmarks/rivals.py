"""`Seq2Seq` on PyTorch's own layers, as an expert would write it."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.layers.masks import causal_mask
from course_lib.layers.positions import SinusoidalPositions
from course_lib.models.seq2seq import init_weights
from course_lib.text.tokenizers import BOS, PAD


class TorchTransformer(nn.Module):
    """`nn.Transformer` with one embedding matrix for source, target and output.

    norm: "pre" or "post". inner_dropout: whether the layers also drop attention weights and hidden units, as
    they do by default; without it, dropout is exactly where `Seq2Seq` has it.
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
        norm: str = "pre",
        inner_dropout: bool = True,
    ):
        super().__init__()
        self.d_model = d_model
        self.embedding = nn.Embedding(vocab, d_model)
        self.positions = SinusoidalPositions(max_tokens, d_model)
        self.dropout = nn.Dropout(dropout)
        first = norm == "pre"
        layer = nn.TransformerEncoderLayer(d_model, heads, d_ff, dropout, batch_first=True, norm_first=first)
        encoder = nn.TransformerEncoder(
            layer, layers, nn.LayerNorm(d_model) if first else None, enable_nested_tensor=False
        )
        layer = nn.TransformerDecoderLayer(d_model, heads, d_ff, dropout, batch_first=True, norm_first=first)
        decoder = nn.TransformerDecoder(layer, layers, nn.LayerNorm(d_model) if first else None)
        self.transformer = nn.Transformer(
            d_model, heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
        )
        self.apply(init_weights)
        if not inner_dropout:
            self.drop_only_between_sublayers()

    def drop_only_between_sublayers(self) -> None:
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


class PaddedLoss(nn.Module):
    """The usual loss over a padded batch: logits for all positions, padding ignored by the loss."""

    def __init__(self, model: nn.Module, label_smoothing: float = 0.1):
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Sum of the losses and their number, as `TranslationLoss` returns them."""
        logits = self.model(source, target[:, :-1])
        labels = target[:, 1:].flatten()
        loss = F.cross_entropy(
            logits.flatten(0, 1),
            labels,
            ignore_index=PAD,
            label_smoothing=self.label_smoothing,
            reduction="sum",
        )
        return loss, (labels != PAD).sum()


@torch.inference_mode()
def greedy_recomputing(model: TorchTransformer, source: Tensor, tokens: int) -> Tensor:
    """Generate `tokens` tokens; the encoder runs once, the decoder runs on the whole prefix each time."""
    hidden = source == PAD
    memory = model.transformer.encoder(model.embed(source), src_key_padding_mask=hidden)
    ids = torch.full((len(source), 1), BOS, device=source.device)
    for _ in range(tokens):
        states = model.transformer.decoder(
            model.embed(ids),
            memory,
            tgt_mask=~causal_mask(ids.shape[1], device=ids.device),
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        best = model.output_logits(states[:, -1]).argmax(-1, keepdim=True)
        ids = torch.cat([ids, best], dim=1)
    return ids[:, 1:]


@torch.inference_mode()
def greedy_last_token(model: TorchTransformer, source: Tensor, tokens: int) -> Tensor:
    """Generate `tokens` tokens; only the last one passes through the layers, whose earlier inputs are cached.

    This is the most that `nn.TransformerDecoderLayer` allows without rewriting attention: it still projects
    keys and values of all earlier tokens, and of the memory, at each step.
    """
    hidden = source == PAD
    memory = model.transformer.encoder(model.embed(source), src_key_padding_mask=hidden)
    ids = torch.full((len(source), 1), BOS, device=source.device)
    written, kept = [], [None] * len(model.transformer.decoder.layers)
    for position in range(tokens):
        x = model.embed(ids, position)
        for i, layer in enumerate(model.transformer.decoder.layers):
            x, kept[i] = step(layer, x, kept[i], memory, hidden)
        norm = model.transformer.decoder.norm
        ids = model.output_logits((norm(x) if norm else x)[:, -1]).argmax(-1, keepdim=True)
        written.append(ids)
    return torch.cat(written, dim=1)


def step(
    layer: nn.TransformerDecoderLayer, x: Tensor, kept: Tensor | None, memory: Tensor, hidden: Tensor
) -> tuple[Tensor, Tensor]:
    """One layer on one new token; returns its output, and the inputs of its attention so far."""

    def attend(attention: nn.MultiheadAttention, query: Tensor, keys: Tensor, hide: Tensor | None) -> Tensor:
        return attention(query, keys, keys, key_padding_mask=hide, need_weights=False)[0]

    def feed_forward(y: Tensor) -> Tensor:
        return layer.linear2(layer.activation(layer.linear1(y)))

    first = layer.norm_first
    new = layer.norm1(x) if first else x
    kept = new if kept is None else torch.cat([kept, new], dim=1)
    x = x + attend(layer.self_attn, new, kept, None)
    x = x if first else layer.norm1(x)
    x = x + attend(layer.multihead_attn, layer.norm2(x) if first else x, memory, hidden)
    x = x if first else layer.norm2(x)
    x = x + feed_forward(layer.norm3(x) if first else x)
    return (x if first else layer.norm3(x)), kept
