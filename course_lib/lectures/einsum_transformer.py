"""The einsum Transformer of the notes, repaired.

As printed, it does not run: `einsum_bugs` lists its bugs. Repaired, it is a post-norm encoder-decoder
with deviations from the paper that are kept here:

- the query, key and value matrices have the width of one head, and all heads share them;
- dropout comes after the LayerNorm, dropout(norm(y + x)). The course, like the paper, has it before the sum,
  norm(x + dropout(y)). In evaluation the two agree;
- positions are learned, embeddings are not scaled, and there is no weight tying;
- attention reshapes values and keys whatever their axes are; `Transformer` gives them three;
- target padding is not masked (`trg_pad_idx` is never used, and omitted here); it is on the right, where the
  causal mask hides it from all real tokens.

The notes' names: N sentences, S and T tokens of source and target, embed_size = d_model,
forward_expansion = d_ff / d_model, value_len = key_len = keys, query_len = queries, trg = target.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.masks import Mask


class SelfAttention(nn.Module):
    """Multi-head attention whose heads share three matrices with the width of one head.

    Raises ValueError if `heads` does not divide `embed_size`.
    """

    def __init__(self, embed_size: int, heads: int):
        super().__init__()
        if embed_size % heads:
            raise ValueError(f"heads={heads} does not divide embed_size={embed_size}")
        self.embed_size = embed_size
        self.heads = heads
        self.head_dim = embed_size // heads
        self.values = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.keys = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.queries = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.fc_out = nn.Linear(heads * self.head_dim, embed_size)

    def forward(
        self,
        values: Float[Tensor, "N keys embed_size"],
        keys: Float[Tensor, "N keys embed_size"],
        query: Float[Tensor, "N queries embed_size"],
        mask: Mask,
    ) -> Float[Tensor, "N queries embed_size"]:
        N, query_len, _ = query.shape
        values = values.reshape(N, -1, self.heads, self.head_dim)
        keys = keys.reshape(N, -1, self.heads, self.head_dim)
        queries = query.reshape(N, query_len, self.heads, self.head_dim)
        values, keys, queries = self.values(values), self.keys(keys), self.queries(queries)
        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
        energy = energy.masked_fill(mask == 0, float("-inf"))
        attention = torch.softmax(energy / (self.head_dim ** (1 / 2)), dim=3)
        attention = attention.masked_fill((mask == 0).all(dim=-1, keepdim=True), 0.0)
        out = torch.einsum("nhql,nlhd->nqhd", [attention, values])
        out = out.reshape(N, query_len, self.heads * self.head_dim)
        out = self.fc_out(out)
        return out


def layer_norm_mean(x: Float[Tensor, "N tokens embed_size"]) -> Float[Tensor, "#N #tokens #embed_size"]:
    """Mean that `nn.LayerNorm` subtracts from each element of `x`: over the features of its token."""
    return x.mean(dim=-1, keepdim=True)


class TransformerBlock(nn.Module):
    """Encoder block: attention, then feed-forward, each followed by residual, LayerNorm and dropout."""

    def __init__(self, embed_size: int, heads: int, dropout: float, forward_expansion: int):
        super().__init__()
        self.attention = SelfAttention(embed_size, heads)
        self.norm1 = nn.LayerNorm(embed_size)
        self.norm2 = nn.LayerNorm(embed_size)
        self.feed_forward = nn.Sequential(
            nn.Linear(embed_size, forward_expansion * embed_size),
            nn.ReLU(),
            nn.Linear(forward_expansion * embed_size, embed_size),
        )
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        value: Float[Tensor, "N keys embed_size"],
        key: Float[Tensor, "N keys embed_size"],
        query: Float[Tensor, "N queries embed_size"],
        mask: Mask,
    ) -> Float[Tensor, "N queries embed_size"]:
        attention = self.attention(value, key, query, mask)
        x = self.dropout(self.norm1(attention + query))
        forward = self.feed_forward(x)
        out = self.dropout(self.norm2(forward + x))
        return out


class Encoder(nn.Module):
    """Encoder: embeddings, learned positions and a stack of blocks."""

    def __init__(
        self,
        src_vocab_size: int,
        embed_size: int,
        num_layers: int,
        heads: int,
        device: str,
        forward_expansion: int,
        dropout: float,
        max_length: int,
    ):
        super().__init__()
        self.device = device
        self.word_embedding = nn.Embedding(src_vocab_size, embed_size)
        self.position_embedding = nn.Embedding(max_length, embed_size)
        arguments = (embed_size, heads, dropout, forward_expansion)
        blocks = [TransformerBlock(*arguments) for _ in range(num_layers)]
        self.layers = nn.ModuleList(blocks)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Int[Tensor, "N S"], mask: Bool[Tensor, "N 1 1 S"]
    ) -> Float[Tensor, "N S embed_size"]:
        N, seq_length = x.shape
        positions = torch.arange(0, seq_length).expand(N, seq_length).to(self.device)
        out = self.dropout(self.word_embedding(x) + self.position_embedding(positions))
        for layer in self.layers:
            out = layer(out, out, out, mask)
        return out


class DecoderBlock(nn.Module):
    """Decoder block: self-attention, then a `TransformerBlock` with keys and values from the encoder.

    device: unused; kept as the third argument, as in the notes.
    """

    def __init__(self, embed_size: int, heads: int, device: str, forward_expansion: int, dropout: float):
        super().__init__()
        self.attention = SelfAttention(embed_size, heads)
        self.norm = nn.LayerNorm(embed_size)
        self.transformer_block = TransformerBlock(embed_size, heads, dropout, forward_expansion)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "N T embed_size"],
        value: Float[Tensor, "N S embed_size"],
        key: Float[Tensor, "N S embed_size"],
        src_mask: Mask,
        trg_mask: Mask,
    ) -> Float[Tensor, "N T embed_size"]:
        attention = self.attention(x, x, x, trg_mask)
        query = self.dropout(self.norm(attention + x))
        out = self.transformer_block(value, key, query, src_mask)
        return out


class Decoder(nn.Module):
    """Decoder: embeddings, learned positions, a stack of blocks and the output layer."""

    def __init__(
        self,
        trg_vocab_size: int,
        embed_size: int,
        num_layers: int,
        heads: int,
        forward_expansion: int,
        dropout: float,
        device: str,
        max_length: int,
    ):
        super().__init__()
        self.device = device
        self.word_embedding = nn.Embedding(trg_vocab_size, embed_size)
        self.position_embedding = nn.Embedding(max_length, embed_size)
        arguments = (embed_size, heads, device, forward_expansion, dropout)
        self.layers = nn.ModuleList([DecoderBlock(*arguments) for _ in range(num_layers)])
        self.fc_out = nn.Linear(embed_size, trg_vocab_size)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Int[Tensor, "N T"],
        enc_out: Float[Tensor, "N S embed_size"],
        src_mask: Mask,
        trg_mask: Mask,
    ) -> Float[Tensor, "N T trg_vocab"]:
        N, seq_length = x.shape
        positions = torch.arange(0, seq_length).expand(N, seq_length).to(self.device)
        x = self.dropout(self.word_embedding(x) + self.position_embedding(positions))
        for layer in self.layers:
            x = layer(x, enc_out, enc_out, src_mask, trg_mask)
        out = self.fc_out(x)
        return out


class Transformer(nn.Module):
    """The notes' encoder-decoder.

    src_pad_idx: padding id of source sentences. max_length: most tokens in a sentence.
    device: of the model, its positions and masks; the default is the CPU (in the notes, a GPU).
    Raises ValueError for a sentence longer than `max_length`.
    """

    def __init__(
        self,
        src_vocab_size: int,
        trg_vocab_size: int,
        src_pad_idx: int,
        embed_size: int = 256,
        num_layers: int = 6,
        forward_expansion: int = 4,
        heads: int = 8,
        dropout: float = 0.0,
        device: str = "cpu",
        max_length: int = 100,
    ):
        super().__init__()
        self.encoder = Encoder(
            src_vocab_size, embed_size, num_layers, heads, device, forward_expansion, dropout, max_length
        )
        self.decoder = Decoder(
            trg_vocab_size, embed_size, num_layers, heads, forward_expansion, dropout, device, max_length
        )
        self.src_pad_idx = src_pad_idx
        self.device = device
        self.max_length = max_length
        self.to(device)

    def make_src_mask(self, src: Int[Tensor, "N S"]) -> Bool[Tensor, "N 1 1 S"]:
        src_mask = (src != self.src_pad_idx).unsqueeze(1).unsqueeze(2)
        return src_mask.to(self.device)

    def make_trg_mask(self, trg: Int[Tensor, "N T"]) -> Bool[Tensor, "N 1 T T"]:
        N, trg_len = trg.shape
        trg_mask = torch.tril(torch.ones((trg_len, trg_len), dtype=torch.bool)).expand(N, 1, trg_len, trg_len)
        return trg_mask.to(self.device)

    def forward(self, src: Int[Tensor, "N S"], trg: Int[Tensor, "N T"]) -> Float[Tensor, "N T trg_vocab"]:
        """Logits of the token that follows each token of `trg`."""
        longest = max(src.shape[1], trg.shape[1])
        if longest > self.max_length:
            raise ValueError(f"a sentence of {longest} tokens is longer than max_length={self.max_length}")
        src_mask = self.make_src_mask(src)
        trg_mask = self.make_trg_mask(trg)
        enc_src = self.encoder(src, src_mask)
        out = self.decoder(trg, enc_src, src_mask, trg_mask)
        return out
