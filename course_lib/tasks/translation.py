"""Translation with a `Seq2Seq`: batches, loss, translating sentences, model files."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.data import Dataset

from course_lib.datasets.batching import Batches, BucketBatchSampler, pad
from course_lib.generation.beam import beam_search
from course_lib.generation.decoding import greedy_decode
from course_lib.generation.engine import Seq2SeqEngine
from course_lib.layers.masks import nonpad_indices
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.text.tokenizers import BOS, EOS, PAD, Tokenizer
from course_lib.training.evaluation import evaluating
from course_lib.training.model_folder import load_model_folder, save_model_folder
from course_lib.training.precision import choose_precision, for_inference
from course_lib.utils.progress_bar import tracked

Pair = tuple[str, str]

MEASURED = 4  # tokens to generate in each format, to see which one is faster


class TranslationLoss(nn.Module):
    """Cross-entropy of a translation model with teacher forcing: each target token given the ones before it.

    label_smoothing: the smoothing ε, the probability mass spread evenly over the vocabulary.
    Source: Szegedy et al. 2016 (label smoothing); Vaswani et al. 2017, section 5.4.
    """

    def __init__(self, model: Seq2Seq, label_smoothing: float = 0.1):
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses over the tokens of `target` (BOS … EOS, then PAD), and their number.

        Logits are computed for non-padding tokens only: the output layer is the most expensive part of a
        small model.
        """
        hidden_states = self.model.decode(target[:, :-1], self.model.encode(source)).flatten(0, 1)
        nonpad = nonpad_indices(target[:, 1:], PAD)
        logits, labels = self.model.output_logits(hidden_states[nonpad]), target[:, 1:].flatten()[nonpad]
        smoothing = self.label_smoothing
        loss = F.cross_entropy(logits, labels, ignore_index=PAD, reduction="sum", label_smoothing=smoothing)
        return loss, (labels != PAD).sum()


def translate(
    model: Seq2Seq,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    max_tokens: int | None = None,
    batch: int = 128,
    width: int = 1,
    precision: str = "fp32",
    progress: bool = False,
) -> list[str]:
    """Translate sentences, by greedy decoding or beam search.

    max_tokens: the most tokens to generate per sentence; by default twice the source length plus ten.
    batch: batch size. width: of the beam; 1 means greedy decoding.
    precision: "fp32" gives the same text on every machine; "auto", "bf16" and "fp16" are as in `TrainConfig`.
    progress: show a progress bar if this is a terminal.
    Raises ValueError for an empty sentence, and for one that is too long for the model.
    """
    ids = [with_end(text, tokenizer, model.config.max_tokens) for text in sentences]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))  # similar lengths together, for little padding
    texts = [""] * len(ids)
    device = model.embedding.weight.device
    parts = [order[first : first + batch] for first in range(0, len(order), batch)]
    sources = [pad([ids[i] for i in part]).to(device) for part in parts]
    limit = model.config.max_tokens - 1
    with evaluating(model), torch.inference_mode():
        fast = for_inference(model, precision_of_decoding(precision, model, sources, width))
        engine = Seq2SeqEngine(fast)
        work = list(zip(parts, sources, strict=True))
        for part, source in tracked(work, "translating", "batch", shown=progress):
            most = min(limit, 2 * source.shape[1] + 10) if max_tokens is None else min(limit, max_tokens)
            for i, ids_of_text in zip(part, decode(engine, source, most, width), strict=True):
                texts[i] = tokenizer.decode(ids_of_text)
    return texts


def decode(
    engine: Seq2SeqEngine, source: Int[Tensor, "batch source"], most: int, width: int
) -> list[list[int]]:
    """The ids of the translations, of at most this many tokens, by a beam of this width (1: greedily)."""
    start = torch.full((len(source), 1), BOS, device=source.device)
    generator = engine.model.generator(source, most, engine=engine)
    if width == 1:
        return greedy_decode(generator, start, EOS, most)
    return [hypotheses[0].ids for hypotheses in beam_search(generator, start, EOS, most, width)]


def precision_of_decoding(
    precision: str, model: Seq2Seq, sources: Sequence[Int[Tensor, "_ _"]], width: int
) -> str:
    """Like `choose_precision`; "auto" on a CPU measures the first tokens of a batch of median length.

    Small models and few sentences at a time are often faster in fp32 where large ones are faster in bf16.
    """
    if not sources:
        return "fp32"
    source = sources[len(sources) // 2]
    engines = cache(lambda name: Seq2SeqEngine(for_inference(model, name)))
    shapes = [p.shape for p in model.parameters()]
    key = ("decoding", type(model), len(source).bit_length(), width, *shapes)  # 1, 2–3, 4–7, … sentences

    def step(name: str) -> None:
        decode(engines(name), source, MEASURED, width)

    return choose_precision(precision, source.device, step, key)


def with_end(text: str, tokenizer: Tokenizer, max_tokens: int) -> list[int]:
    """The ids of a source sentence, then EOS. Raises ValueError for an empty and for a too long sentence."""
    ids = tokenizer.encode(text)
    if not ids:
        raise ValueError(f"there is nothing to translate in {text!r}")
    if len(ids) + 1 > max_tokens:
        raise ValueError(f"{len(ids)} tokens and EOS exceed max_tokens={max_tokens}: {text[:40]!r}…")
    return [*ids, EOS]


class TranslationDataset(Dataset[tuple[list[int], list[int]]]):
    """Sentence pairs as ids: `source EOS` and `BOS target EOS`.

    max_tokens: length of the longest sentence to keep, special tokens included; longer pairs are dropped and
    counted in `too_long`.
    Raises ValueError if no pair is left.
    """

    def __init__(self, pairs: Sequence[Pair], tokenizer: Tokenizer, max_tokens: int = 128):
        self.pairs, self.tokenizer, self.max_tokens = pairs, tokenizer, max_tokens
        self.encode()

    def encode(self) -> None:
        """Convert the pairs to ids."""
        source, target = (self.tokenizer.encode_batch([pair[side] for pair in self.pairs]) for side in (0, 1))
        both = [([*s, EOS], [BOS, *t, EOS]) for s, t in zip(source, target, strict=True) if s and t]
        self.ids = [pair for pair in both if max(map(len, pair)) <= self.max_tokens]
        self.too_long = len(self.pairs) - len(self.ids)
        if not self.ids:
            raise ValueError(
                f"no batches: none of the {len(self.pairs)} pairs fits into max_tokens={self.max_tokens}"
            )
        self.lengths = [(len(t), len(s)) for s, t in self.ids]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, number: int) -> tuple[list[int], list[int]]:
        return self.ids[number]


def collate_pairs(pairs: Sequence[tuple[list[int], list[int]]]) -> tuple[Tensor, Tensor]:
    """Padded source ids and target ids: (batch, source) and (batch, target)."""
    source, target = zip(*pairs, strict=True)
    return pad(source), pad(target)


class TranslationBatches(Batches):
    """Batches of sentence pairs of similar length, in a different order in each epoch.

    batch: batch size. max_tokens: as in `TranslationDataset`. seed: of the order.
    """

    dataset: TranslationDataset

    def __init__(
        self, pairs: Sequence[Pair], tokenizer: Tokenizer, batch: int, max_tokens: int = 128, seed: int = 0
    ):
        dataset = TranslationDataset(pairs, tokenizer, max_tokens)
        super().__init__(dataset, BucketBatchSampler(dataset.lengths, batch, seed), collate_pairs)


def mean_loss(model: Seq2Seq, tokenizer: Tokenizer, pairs: Sequence[Pair], batch: int = 256) -> float:
    """Mean loss per target token on some pairs, without label smoothing."""
    objective = TranslationLoss(model, label_smoothing=0.0)
    device, total, count = model.embedding.weight.device, 0.0, 0
    with evaluating(model), torch.inference_mode():
        for source, target in TranslationBatches(pairs, tokenizer, batch, model.config.max_tokens):
            loss, tokens = objective(source.to(device), target.to(device))
            total, count = total + loss.item(), count + int(tokens)
    return total / count


def save_translator(folder: str | Path, model: Seq2Seq, tokenizer: Tokenizer) -> None:
    """Write a translation model: configuration, tokenizer, weights."""
    save_model_folder(folder, "translator", model, model.config, tokenizer)


def load_translator(folder: str | Path, device: torch.device | str = "cpu") -> tuple[Seq2Seq, Tokenizer]:
    """Read a folder by `save_translator`. Errors: as in `load_model_folder`."""
    kind = ("translator", Seq2SeqConfig, lambda config, about: Seq2Seq(config))
    model, tokenizer, _ = load_model_folder(folder, *kind, device, ("tokenizer",))
    return model, tokenizer
