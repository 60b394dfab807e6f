"""The settings of a well-known tutorial, Keras's English-Spanish translator, rebuilt in PyTorch.

Whole words, 15,000 in each language; every sentence padded to 20 positions; one block on each side,
post-norm, heads as wide as the model (the tutorial gives `key_dim=256` to each of 8); learned positions;
three untied embedding and output matrices; dropout 0.5 before the last layer alone. The numbers of
parameters equal those that it prints.
Source: keras.io/examples/nlp/neural_machine_translation_with_transformer.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.benchmarks import workload
from course_lib.benchmarks.rivals import PaddedLoss
from course_lib.benchmarks.timing import Comparison, Plan, measure
from course_lib.benchmarks.training import Trainer, ours
from course_lib.benchmarks.workload import Batch, Sizes
from course_lib.text.tokenizers import PAD

SIZES = Sizes(vocab=15_000, d_model=256, heads=8, d_ff=2048, layers=1, batch=64, max_tokens=20)
TINY = Sizes(vocab=50, d_model=16, heads=2, d_ff=24, layers=1, batch=4, max_tokens=20)
PRESET = Sizes(vocab=6000, d_model=192, heads=3, d_ff=768, layers=2, batch=64)  # "spa-eng-8-original"


class WideAttention(nn.Module):
    """Attention whose heads are each as wide as the model."""

    def __init__(self, d_model: int, heads: int):
        super().__init__()
        self.heads = heads
        self.w_q, self.w_k, self.w_v = (nn.Linear(d_model, heads * d_model) for _ in range(3))
        self.w_o = nn.Linear(heads * d_model, d_model)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        q, k, v = (
            w(y).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for w, y in ((self.w_q, x), (self.w_k, memory), (self.w_v, memory))
        )
        found = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
        return self.w_o(found.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Post-norm block: self-attention, cross-attention in the decoder, feed-forward."""

    def __init__(self, d_model: int, heads: int, d_ff: int, crossed: bool):
        super().__init__()
        self.attention = WideAttention(d_model, heads)
        self.cross = WideAttention(d_model, heads) if crossed else None
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2 + crossed))

    def forward(self, x: Tensor, hidden: Tensor, memory: Tensor | None = None) -> Tensor:
        mask = ~hidden[:, None, None]
        own = self.attention(x, x, causal=True) if self.cross else self.attention(x, x, mask)
        x = self.norms[0](x + own)
        if self.cross is not None:
            x = self.norms[1](x + self.cross(x, memory, mask))
        return self.norms[-1](x + self.feed_forward(x))


class KerasLike(nn.Module):
    """The tutorial's translator; it pads shorter sentences itself."""

    def __init__(self, sizes: Sizes, dropout: float = 0.5):
        super().__init__()
        vocab, d_model, self.positions = sizes.vocab, sizes.d_model, sizes.max_tokens
        self.tables = nn.ModuleList(nn.Embedding(vocab, d_model) for _ in range(2))
        self.places = nn.ModuleList(nn.Embedding(self.positions, d_model) for _ in range(2))
        self.encoder, self.decoder = (
            Block(d_model, sizes.heads, sizes.d_ff, crossed) for crossed in (False, True)
        )
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(d_model, vocab)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits of all positions, padding included, cut to the length of `target`."""
        source, longer = (
            F.pad(ids, (0, self.positions - ids.shape[1]), value=PAD) for ids in (source, target)
        )
        hidden = source == PAD
        memory = self.encoder(self.embed(source, 0), hidden)
        states = self.decoder(self.embed(longer, 1), hidden, memory)
        return self.output(self.dropout(states))[:, : target.shape[1]]

    def embed(self, ids: Tensor, side: int) -> Tensor:
        return self.tables[side](ids) + self.places[side].weight


class TutorialTrainer(Trainer):
    """The tutorial's optimizer, without gradient clipping."""

    def __init__(self, sizes: Sizes, batches: list[Batch], plan: Plan):
        super().__init__(PaddedLoss(KerasLike(sizes), 0.0), batches, plan, whole=True)
        self.optimizer = torch.optim.RMSprop(self.objective.parameters(), lr=1e-3, alpha=0.9)


def keras(plan: Plan) -> Iterator[Comparison]:
    """Training in sentences per second: the tutorial's settings, ours at its sizes, and our preset."""
    sizes, number = (TINY, 2) if plan.tiny else (SIZES, 8)
    words = [
        pair
        for pair in workload.sentences(sizes.batch * (number + 1), sizes.vocab)
        if max(map(len, pair)) <= sizes.max_tokens
    ][: sizes.batch * number]
    batches = workload.batches(words, sizes.batch, plan.device)
    small = TINY if plan.tiny else PRESET
    subwords = workload.batches(
        workload.as_subwords(words, small.vocab), small.batch, plan.device, bucketed=True
    )
    trainers = {
        "ours, preset spa-eng-8-original": Trainer(ours(small, 0.0), subwords, plan, whole=True),
        "ours, its sizes": Trainer(ours(sizes, 0.1), batches, plan, whole=True),
        "Keras-like": TutorialTrainer(sizes, batches, plan),
    }
    turns = {name: one.turn_in_sentences for name, one in trainers.items()}
    notes = [
        f"{name}: {sum(p.numel() for p in one.objective.parameters()):,} parameters"
        for name, one in trainers.items()
    ]
    case = f"training, fp32, generated sentences of at most {sizes.max_tokens} tokens"
    yield measure(
        Comparison("keras", case, "sentences/s", next(iter(turns)), notes=notes), turns, plan.few(0.8)
    )
