"""Translation with a `Seq2Seq`: its batches, its loss, its sentences, its files."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.checkpoints import load_model, save_model
from course_lib.decoding import beam, greedy
from course_lib.files import atomic_path
from course_lib.masks import real_tokens
from course_lib.precision import choose_precision, for_inference
from course_lib.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.tokens import BOS, EOS, PAD, Tokens, buckets, pad

Pair = tuple[str, str]


class TranslationObjective(nn.Module):
    """The loss of a translation model: cross-entropy of each next token, given all the right ones before it.

    label_smoothing: share of the target probability spread evenly over the vocabulary.
    Source: Szegedy et al. 2016 (label smoothing); Vaswani et al. 2017, section 5.4.
    """

    def __init__(self, model: Seq2Seq, label_smoothing: float = 0.1):
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses over the tokens of `target` (BOS … EOS, then PAD), and their number.

        Logits are computed for real tokens only: the output layer is the dearest part of a small model.
        """
        states = self.model.decode(target[:, :-1], self.model.encode(source)).flatten(0, 1)
        real = real_tokens(target[:, 1:], PAD)
        logits, labels = self.model.unembed(states[real]), target[:, 1:].flatten()[real]
        smoothing = {"label_smoothing": self.label_smoothing, "ignore_index": PAD}
        return F.cross_entropy(logits, labels, reduction="sum", **smoothing), (labels != PAD).sum()


def translate(
    model: Seq2Seq,
    tokens: Tokens,
    sentences: Sequence[str],
    max_tokens: int | None = None,
    batch: int = 128,
    width: int = 1,
    precision: str = "auto",
) -> list[str]:
    """Translations of the sentences: greedily, or the best that a beam of some width finds.

    max_tokens: the most that are written for one sentence; by default twice its own length and ten more.
    precision: "auto" computes in the fastest of "fp32", "bf16", "fp16" that the device truly supports.
    Raises ValueError for an empty sentence and for one that is too long for the model.
    """
    ids = [with_end(text, tokens, model.config.max_tokens) for text in sentences]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))  # similar lengths together: little padding
    texts = [""] * len(ids)
    device = model.embedding.weight.device
    training = model.training
    writer = for_inference(model.eval(), choose_precision(precision, device))
    for first in range(0, len(order), batch):
        part = order[first : first + batch]
        source = pad([ids[i] for i in part]).to(device)
        room = model.config.max_tokens - 1
        most = min(room, 2 * source.shape[1] + 10) if max_tokens is None else min(room, max_tokens)
        with torch.inference_mode():
            start = torch.full((len(part), 1), BOS, device=device)
            if width == 1:
                written = greedy(writer.generator(source), start, EOS, most)
            else:
                found = beam(writer.generator(source), start, EOS, most, width)
                written = [hypotheses[0].ids for hypotheses in found]
        for i, ids_of_text in zip(part, written, strict=True):
            texts[i] = tokens.decode(ids_of_text)
    model.train(training)
    return texts


def with_end(text: str, tokens: Tokens, max_tokens: int) -> list[int]:
    """The ids of a source sentence and EOS; ValueError where there is no text, or too much of it."""
    ids = tokens.encode(text)
    if not ids:
        raise ValueError(f"there is nothing to translate in {text!r}")
    if len(ids) + 1 > max_tokens:
        raise ValueError(f"{len(ids)} tokens and EOS exceed max_tokens={max_tokens}: {text[:40]!r}…")
    return [*ids, EOS]


class TranslationBatches:
    """Sentence pairs as batches of ids: similar lengths together, another order in each epoch.

    batch: sentences in a batch. max_tokens: of a sentence, control tokens included. seed: of the order.
    Longer pairs are left out and counted in `too_long`.
    Raises ValueError where no pair is left.
    """

    def __init__(
        self, pairs: Sequence[Pair], tokens: Tokens, batch: int, max_tokens: int = 128, seed: int = 0
    ):
        source, target = (tokens.encode_batch([pair[side] for pair in pairs]) for side in (0, 1))
        both = [([*s, EOS], [BOS, *t, EOS]) for s, t in zip(source, target, strict=True) if s and t]
        self.ids = [pair for pair in both if max(map(len, pair)) <= max_tokens]
        self.too_long = len(pairs) - len(self.ids)
        if not self.ids:
            raise ValueError(f"no batches: none of the {len(pairs)} pairs fits into max_tokens={max_tokens}")
        self.lengths = [(len(t), len(s)) for s, t in self.ids]
        self.batch, self.seed = batch, seed

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as numbers of pairs; they depend on the seed and the epoch alone."""
        return buckets(self.lengths, self.batch, seed=self.seed * 1_000_003 + number)

    def collate(
        self, numbers: Sequence[int]
    ) -> tuple[Int[Tensor, "batch source"], Int[Tensor, "batch target"]]:
        """The pairs with these numbers: padded source and target ids."""
        source, target = zip(*(self.ids[i] for i in numbers), strict=True)
        return pad(source), pad(target)


def save_translator(folder: str | Path, model: Seq2Seq, tokens: Tokens) -> None:
    """Write a model that can translate: its configuration, its vocabulary, its weights."""
    with atomic_path(folder) as room:
        room.mkdir()
        config = {**asdict(model.config), "vocabulary": tokens.fingerprint}
        (room / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
        tokens.save(room / "tokens.json")
        save_model(model, room / "model.safetensors")


def load_translator(folder: str | Path, device: torch.device | str = "cpu") -> tuple[Seq2Seq, Tokens]:
    """Read what `save_translator` wrote.

    Raises FileNotFoundError where a file is missing, ValueError where the files do not belong together.
    """
    folder = Path(folder)
    kept = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    fingerprint, config = kept.pop("vocabulary", None), Seq2SeqConfig(**kept)
    tokens = Tokens.load(folder / "tokens.json")
    if len(tokens) != config.vocab:
        raise ValueError(
            f"{folder}: the vocabulary has {len(tokens)} tokens, the model has vocab={config.vocab}"
        )
    if fingerprint not in (None, tokens.fingerprint):
        raise ValueError(
            f"{folder}: tokens.json is the vocabulary of another model: its tokens are not in this order"
        )
    model = Seq2Seq(config)
    load_model(model, folder / "model.safetensors")
    return model.to(device).eval(), tokens
