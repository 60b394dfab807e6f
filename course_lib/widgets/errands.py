"""Small attention layers that were trained to run four errands in a sentence of any words."""

import zlib
from functools import cache

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from course_lib.attention import MultiHeadAttention
from course_lib.recorder import record_attention

ERRANDS = ("the word before", "the word after", "the first word", "the longest word")
WORDS = 10  # the most of a sentence
CONTENT = 6  # numbers that say which word it is: all errands together fill the layer's width
D_MODEL = CONTENT * len(ERRANDS)
STEPS, BATCH, RATE = 250, 24, 0.02


def content(word: str) -> Float[Tensor, " content"]:
    """Random numbers that are always the same for the same word, in capitals or not."""
    return torch.randn(CONTENT, generator=torch.Generator().manual_seed(zlib.crc32(word.lower().encode())))


def vectors(
    contents: Float[Tensor, "*batch words content"], lengths: Float[Tensor, "*batch words"]
) -> Float[Tensor, "*batch words d_model"]:
    """What the layer reads of each word: its content, its place, and its length against the longest."""
    places = torch.eye(WORDS)[: contents.shape[-2]].expand(*contents.shape[:-1], WORDS)
    longest = 0.3 * (lengths - lengths.amax(dim=-1, keepdim=True))  # about as large as the rest
    x = torch.cat([contents, places, longest[..., None]], dim=-1)
    return F.pad(x, (0, D_MODEL - x.shape[-1]))


def right_words(lengths: Float[Tensor, "*batch words"]) -> Float[Tensor, "errands *batch words words"]:
    """For each errand the weights that fetch it: row by row, where a word is to look.

    The first word has none before it and looks at itself, as the last one does for the word after it.
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
    """What each word is to bring: the contents of the four errands, side by side."""
    return torch.cat(list(right_words(lengths) @ contents), dim=-1)


@cache
def trained(heads: int) -> MultiHeadAttention:
    """A layer with so many heads, trained on random words in sentences of all lengths; once for each number.

    Raises ValueError where `heads` does not divide D_MODEL.
    """
    rng = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        layer = MultiHeadAttention(D_MODEL, heads)
        layer.w_q.weight.data.mul_(0.3)  # nearly even weights at first: no head is on a wrong word too early
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
    """The weights of each head in a sentence, and the share of each errand that is brought.

    The share is 1 where the right contents are fetched exactly, and 0 where nothing of them is.
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
