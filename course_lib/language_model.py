"""Language models: text as training windows, loss, scores on a whole text, new text, files."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.characters import Vocabulary, load_vocabulary
from course_lib.checkpoints import load_model, save_model
from course_lib.decoding import sample
from course_lib.files import atomic_path
from course_lib.gpt import GPT, GPTConfig
from course_lib.text_generator import TextGenerator
from course_lib.tokens import PAD, UNK


class LanguageModelObjective(nn.Module):
    """The loss of a language model: −log of the probability of each next token, given those before it.

    Source: Kak slide 89, with the logarithm that the sum there lacks.
    """

    def __init__(self, model: GPT):
        super().__init__()
        self.model = model

    def forward(self, ids: Int[Tensor, "batch tokens"]) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses over all tokens but the first of each row, PAD left out, and their number."""
        logits, labels = self.model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()
        return F.cross_entropy(logits, labels, reduction="sum", ignore_index=PAD), (labels != PAD).sum()


class TextBatches:
    """A long text for `course_lib.training`, cut into windows at other places in each epoch.

    ids: of the text. tokens: that the model reads in a window; one more follows them, as the last answer.
    batch: windows in a batch. seed: of the places and of the order.
    An epoch cuts the text from a random place on, and takes each window once, in random order.
    Raises ValueError where the text has no whole batch of windows.
    """

    def __init__(self, ids: Sequence[int] | Int[Tensor, " n"], tokens: int, batch: int, seed: int = 0):
        needed = tokens * (batch + 1)
        if len(ids) < needed:
            raise ValueError(
                f"{len(ids)} tokens are too few for {batch} windows of {tokens}: it takes {needed}"
            )
        self.windows = torch.as_tensor(ids).unfold(0, tokens + 1, 1)  # each row begins one token later
        self.tokens, self.batch, self.seed = tokens, batch, seed

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as places where windows begin; they depend on seed and epoch alone."""
        rng = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
        first = torch.randint(self.tokens, (), generator=rng).item()
        places = torch.arange(first, len(self.windows), self.tokens)
        places = places[torch.randperm(len(places), generator=rng)].tolist()
        whole = len(places) - len(places) % self.batch
        return [places[i : i + self.batch] for i in range(0, whole, self.batch)]

    def collate(self, numbers: Sequence[int]) -> tuple[Int[Tensor, "batch tokens"]]:
        """The windows that begin at these places, each with the token that follows it."""
        return (self.windows[torch.tensor(numbers)],)


@torch.inference_mode()
def mean_loss(
    model: nn.Module,
    ids: Sequence[int] | Int[Tensor, " n"],
    context: int | None = None,
    stride: int | None = None,
    batch: int = 64,
) -> float:
    """The mean loss of a whole text, in nats for each token: every token but the first counts once.

    model: gives logits, as a `GPT` does. context: tokens that it reads at once, by default max_tokens.
    stride: tokens between the beginnings of two windows. By default windows do not overlap, so the first
    answer in each comes from a single token; with a smaller stride every answer but the first ones comes from
    at least context − stride tokens.
    Raises ValueError for a text of less than 2 tokens, and for a stride outside 1 … context.
    """
    context = context or model.config.max_tokens
    stride = stride or context
    if len(ids) < 2 or not 1 <= stride <= context:
        raise ValueError(f"nothing to count: {len(ids)} tokens, stride={stride}, context={context}")
    text = torch.as_tensor(ids)
    context = min(context, len(text) - 1)
    windows = text.unfold(0, context + 1, 1)
    places = list(range(0, len(windows), stride))
    if places[-1] != len(windows) - 1:
        places.append(len(windows) - 1)  # the last window reaches back as far as it needs to
    training, device, total, done = model.training, next(model.parameters()).device, 0.0, 0
    model.eval()
    for i in range(0, len(places), batch):
        some = windows[places[i : i + batch]].to(device)
        logits = model(some[:, :-1]).flatten(0, 1).float()
        losses = F.cross_entropy(logits, some[:, 1:].flatten(), reduction="none").view(len(some), context)
        for place, row in zip(places[i : i + batch], losses.cpu().double(), strict=True):
            total += row[done - place :].sum().item()
            done = place + context
    model.train(training)
    return total / (len(text) - 1)


def perplexity(loss: float) -> float:
    """Among how many equally likely tokens the model might as well choose. loss: nats for each token."""
    return math.exp(loss)


def bits_per_character(loss: float, tokens: int, characters: int) -> float:
    """The same for any vocabulary. loss: nats for each of `tokens`, in a text of so many characters."""
    return loss / math.log(2) * tokens / characters


class SlidingGenerator(TextGenerator):
    """Writes on past max_tokens: it then forgets all but the later half, and reads this anew."""

    def __init__(self, model: GPT):
        super().__init__(model)
        self.text: Tensor | None = None

    def read(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch vocab"]:
        """Read some more tokens; the logits of the one that follows."""
        most = self.model.config.max_tokens
        self.text = (ids if self.text is None else torch.cat([self.text, ids], dim=1))[:, -most:]
        if self.reader.length + ids.shape[1] > most:
            self.start_anew()
            ids = self.text[:, -(most // 2 + 1) :]
        return super().read(ids)

    def select(self, rows: Int[Tensor, " rows"]) -> None:
        """Go on with these texts of the batch, in this order."""
        super().select(rows)
        self.text = self.text[rows]


def continue_text(
    model: GPT, tokens: Vocabulary, prompt: str, length: int, seed: int = 0, **settings: float | int | None
) -> str:
    """The prompt and `length` tokens more, drawn at random; past max_tokens through `SlidingGenerator`.

    settings: temperature, top_k, top_p and min_p of `next_token_probabilities`.
    Raises ValueError for an empty prompt, and for one with tokens that the vocabulary lacks.
    """
    ids = tokens.encode(prompt)
    if not ids:
        raise ValueError(f"prompt={prompt!r} is empty: a text needs a token to begin with")
    if UNK in ids:
        raise ValueError(f"the vocabulary lacks {ids.count(UNK)} of the {len(ids)} tokens of {prompt!r}")
    device = model.embedding.weight.device
    rng = torch.Generator(device).manual_seed(seed)
    training = model.training
    model.eval()
    start = torch.tensor([ids], device=device)
    written = sample(SlidingGenerator(model), start, None, length, rng=rng, **settings)[0]
    model.train(training)
    return tokens.decode([*ids, *written])


def save_language_model(folder: str | Path, model: GPT, tokens: Vocabulary) -> None:
    """Write a model that can continue texts: its configuration, its vocabulary, its weights."""
    with atomic_path(folder) as room:
        room.mkdir()
        (room / "config.json").write_text(json.dumps(asdict(model.config), indent=2), encoding="utf-8")
        tokens.save(room / "tokens.json")
        save_model(model, room / "model.safetensors")


def load_language_model(folder: str | Path, device: torch.device | str = "cpu") -> tuple[GPT, Vocabulary]:
    """Read what `save_language_model` wrote.

    Raises FileNotFoundError where a file is missing, ValueError where the files do not belong together.
    """
    folder = Path(folder)
    config = GPTConfig(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
    tokens = load_vocabulary(folder / "tokens.json")
    if len(tokens) != config.vocab:
        raise ValueError(
            f"{folder}: the vocabulary has {len(tokens)} tokens, the model has vocab={config.vocab}"
        )
    model = GPT(config)
    load_model(model, folder / "model.safetensors")
    return model.to(device).eval(), tokens
