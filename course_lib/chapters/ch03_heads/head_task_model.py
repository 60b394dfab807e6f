"""Small multi-head attention layers trained on four retrieval tasks in a sentence of any words."""

import zlib
from functools import cache, partial
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_lib.layers.hooks import record_attention
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.widgets import stored

ERRANDS = ("the word before", "the word after", "the first word", "the longest word")
WORDS = 10  # most words in a sentence
CONTENT = 6  # features that identify a word: those of all tasks together fill d_model
D_MODEL = CONTENT * len(ERRANDS)
STEPS, BATCH, RATE = 250, 24, 0.02


def content(word: str) -> Float[Tensor, " content"]:
    """Content vector of a word: random, but fixed for each word, ignoring case."""
    return torch.randn(CONTENT, generator=torch.Generator().manual_seed(zlib.crc32(word.lower().encode())))


def vectors(
    contents: Float[Tensor, "*batch words content"], lengths: Float[Tensor, "*batch words"]
) -> Float[Tensor, "*batch words d_model"]:
    """Input vectors of the layer: content, one-hot position, and length relative to the longest word."""
    places = torch.eye(WORDS)[: contents.shape[-2]].expand(*contents.shape[:-1], WORDS)
    longest = 0.3 * (lengths - lengths.amax(dim=-1, keepdim=True))  # on the scale of the other features
    x = torch.cat([contents, places, longest[..., None]], dim=-1)
    return F.pad(x, (0, D_MODEL - x.shape[-1]))


def right_words(lengths: Float[Tensor, "*batch words"]) -> Float[Tensor, "errands *batch words words"]:
    """Target attention pattern of each task: each row holds the weights of one query word.

    With no previous word, the first word attends to itself; with no next word, so does the last one.
    """
    words = lengths.shape[-1]
    place = torch.arange(words)
    targets = [(place - 1).clamp(min=0), (place + 1).clamp(max=words - 1), 0 * place]
    fixed = [F.one_hot(target, words).float().expand(*lengths.shape, words) for target in targets]
    longest = (lengths == lengths.amax(dim=-1, keepdim=True)).float()
    longest = longest / longest.sum(dim=-1, keepdim=True)
    return torch.stack([*fixed, longest[..., None, :].expand(*lengths.shape, words)])


def fetched(
    contents: Float[Tensor, "*batch words content"], lengths: Float[Tensor, "*batch words"]
) -> Float[Tensor, "*batch words d_model"]:
    """Target outputs: for each word, the contents that the four tasks retrieve, concatenated."""
    return torch.cat(list(right_words(lengths) @ contents), dim=-1)


def file_of(heads: int) -> Path:
    """The stored file of the layer with this many heads."""
    return Path(__file__).parent / "models" / f"heads_{heads}.safetensors"


@cache
def trained(heads: int) -> MultiHeadAttention:
    """The stored attention layer with this many heads; cached.

    Raises ValueError if `heads` does not divide D_MODEL.
    """
    return stored.load(partial(MultiHeadAttention, D_MODEL, heads), file_of(heads))


def train(heads: int) -> MultiHeadAttention:
    """Train an attention layer with this many heads on random words in sentences of all lengths."""
    rng = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        layer = MultiHeadAttention(D_MODEL, heads)
        layer.w_q.weight.data.mul_(0.3)  # nearly uniform weights: no head commits to a wrong word early
    optimizer = torch.optim.Adam(layer.parameters(), lr=RATE)
    for step in range(STEPS):
        words = 2 + step % (WORDS - 1)
        contents = torch.randn(BATCH, words, CONTENT, generator=rng)
        lengths = torch.randint(1, 12, (BATCH, words), generator=rng).float()
        x = vectors(contents, lengths)
        loss = F.mse_loss(layer(x, x), fetched(contents, lengths))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return layer.requires_grad_(False).eval()


def look(
    heads: int, words: list[str]
) -> tuple[Float[Tensor, "heads words words"], Float[Tensor, " errands"]]:
    """Attention weights of each head for a sentence, and the score of each task.

    The score is R², clamped at 0: 1 if the target contents are retrieved exactly, 0 if not at all.
    """
    contents = torch.stack([content(word) for word in words])
    lengths = torch.tensor([float(len(word)) for word in words])
    layer, x = trained(heads), vectors(contents, lengths)[None]
    with record_attention(layer) as maps:
        out = layer(x, x)[0]
    wanted = fetched(contents, lengths)
    wrong, all_of_it = (
        part.square().unflatten(-1, (-1, CONTENT)).sum(dim=(0, 2)) for part in (out - wanted, wanted)
    )
    return maps[""][0][0], (1 - wrong / all_of_it).clamp(min=0)
