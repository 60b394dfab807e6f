"""Translation with a `Seq2Seq`: batches, loss, translating sentences, model files."""

import warnings
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.data import Dataset

from course_lib.datasets.batching import Batches, BucketBatchSampler, pad
from course_lib.generation.beam import beam_search
from course_lib.generation.decoding import greedy_decode
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.text.preparation import encode_clean, encode_pairs, warn_of_unknown
from course_lib.text.tokenizers import BOS, EOS, PAD, Tokenizer
from course_lib.training.evaluation import evaluating
from course_lib.training.model_folder import load_model_folder, save_model_folder
from course_lib.training.precision import choose_precision, for_inference
from course_lib.utils.progress_bar import tracked
from course_lib.utils.ranges import check_whole

Pair = tuple[str, str]


class TranslationLoss(nn.Module):
    """Cross-entropy of a translation model with teacher forcing: each target token given the ones before it.

    label_smoothing: the smoothing ε, the probability mass spread evenly over the vocabulary.
    Source: Szegedy et al. 2016 (label smoothing); Vaswani et al. 2017, section 5.4.

    >>> from course_lib.models import Seq2Seq, Seq2SeqConfig
    >>> from course_lib.text import BOS, EOS
    >>> model = Seq2Seq(Seq2SeqConfig(vocab=100, d_model=32))
    >>> source, target = torch.tensor([[5, 6, EOS]]), torch.tensor([[BOS, 7, 8, EOS]])
    >>> loss, tokens = TranslationLoss(model)(source, target)
    >>> tokens  # it predicts 7, 8 and EOS
    tensor(3)
    """

    def __init__(self, model: Seq2Seq, label_smoothing: float = 0.1):
        super().__init__()
        self.model, self.label_smoothing = model, label_smoothing

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
        """Sum of the losses over the tokens of `target` (BOS … EOS, then PAD), and their number."""
        logits, labels = self.model(source, target[:, :-1]), target[:, 1:]  # the shift by one
        loss = F.cross_entropy(
            logits.flatten(0, 1),
            labels.flatten(),
            ignore_index=PAD,
            reduction="sum",
            label_smoothing=self.label_smoothing,
        )
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
    precision: as in `TrainConfig`.
    progress: show a progress bar if this is a terminal.
    Warns, in one line, of tokens that the tokenizer does not know even as `plain` text.
    Raises ValueError for a single text, an empty sentence, and one that is too long for the model.

    >>> from course_lib.models import Seq2Seq, Seq2SeqConfig
    >>> from course_lib.text import Tokenizer
    >>> tokenizer = Tokenizer.train(["low lower lowest"], vocab=20)
    >>> model = Seq2Seq(Seq2SeqConfig(vocab=len(tokenizer), d_model=32))  # untrained
    >>> len(translate(model, tokenizer, ["low", "lower"], max_tokens=5))
    2
    """
    check_whole(1, batch=batch, width=width)
    ids = with_end(sentences, tokenizer, model.config.max_tokens)
    warn_of_unknown(tokenizer, sentences, ids)
    limit = model.config.max_tokens - 1
    most = [min(limit, 2 * len(row) + 10 if max_tokens is None else max_tokens) for row in ids]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))  # similar lengths together, for little padding
    # a greedy translation can be cut at its limit afterward; what a beam search finds depends on the limit
    groups = [order] if width == 1 else [list(some) for _, some in groupby(order, key=most.__getitem__)]
    parts = [group[i : i + batch] for group in groups for i in range(0, len(group), batch)]
    texts = [""] * len(ids)
    device = model.embedding.weight.device
    with evaluating(model), torch.inference_mode():
        model = for_inference(model, choose_precision(precision, device))
        for part in tracked(parts, "translating", "batch") if progress else parts:
            start, longest = torch.full((len(part), 1), BOS, device=device), most[part[-1]]
            generator = model.generator(pad([ids[i] for i in part]).to(device), longest)
            if width == 1:
                found = greedy_decode(generator, start, EOS, longest)
            else:
                found = [best.ids for best, *_ in beam_search(generator, start, EOS, longest, width)]
            for i, row in zip(part, found, strict=True):
                texts[i] = tokenizer.decode(row[: most[i]])
    return texts


def with_end(sentences: Sequence[str], tokenizer: Tokenizer, max_tokens: int) -> list[list[int]]:
    """The ids of source sentences, each with EOS. Raises ValueError for an empty or too long sentence."""
    rows = encode_clean(tokenizer, sentences)
    for ids, text in zip(rows, sentences, strict=True):
        if not ids:
            raise ValueError(f"there is nothing to translate in {text!r}")
        if len(ids) + 1 > max_tokens:
            raise ValueError(f"{len(ids)} tokens and EOS exceed max_tokens={max_tokens}: {text[:40]!r}…")
        ids.append(EOS)
    return rows


class TranslationDataset(Dataset[tuple[list[int], list[int]]]):
    """Sentence pairs as ids: `source EOS` and `BOS target EOS`.

    max_tokens: length of the longest sentence to keep, special tokens included; longer pairs are dropped,
    counted in `too_long`, and warned of.
    Raises ValueError if no pair is left.

    >>> from course_lib.text import BOS, EOS, Tokenizer
    >>> tokenizer = Tokenizer.train(["a b c"], vocab=20, kind="words")
    >>> source, target = TranslationDataset([("a b", "c")], tokenizer)[0]
    >>> source[-1] == EOS, target[0] == BOS, target[-1] == EOS
    (True, True, True)
    """

    def __init__(self, pairs: Sequence[Pair], tokenizer: Tokenizer, max_tokens: int = 128):
        source, target = encode_pairs(tokenizer, pairs)
        both = [([*s, EOS], [BOS, *t, EOS]) for s, t in zip(source, target, strict=True) if s and t]
        self.ids = [pair for pair in both if max(map(len, pair)) <= max_tokens]
        self.too_long = len(pairs) - len(self.ids)
        if not self.ids:
            raise ValueError(f"no batches: none of the {len(pairs)} pairs fits into max_tokens={max_tokens}")
        if self.too_long:
            dropped = f"{self.too_long:,} of {len(pairs):,} pairs are left out"
            warnings.warn(f"{dropped}: they are empty or exceed max_tokens={max_tokens}", stacklevel=3)
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

    >>> from course_lib.text import Tokenizer
    >>> tokenizer = Tokenizer.train(["a b c"], vocab=20, kind="words")
    >>> [[source, target]] = TranslationBatches([("a b", "c"), ("a", "b c")], tokenizer, batch=2)
    >>> source.shape, target.shape  # with EOS; with BOS and EOS
    (torch.Size([2, 3]), torch.Size([2, 4]))
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
    """Read a folder by `save_translator`. Errors: as in `load_model_folder`.

    >>> from tempfile import TemporaryDirectory
    >>> from course_lib.models import Seq2Seq, Seq2SeqConfig
    >>> from course_lib.text import Tokenizer
    >>> tokenizer = Tokenizer.train(["low lower lowest"], vocab=20)
    >>> with TemporaryDirectory() as folder:
    ...     save_translator(folder + "/model", Seq2Seq(Seq2SeqConfig(vocab=len(tokenizer))), tokenizer)
    ...     model, same = load_translator(folder + "/model")
    >>> same.encode("low") == tokenizer.encode("low")
    True
    """
    kind = ("translator", Seq2SeqConfig, lambda config, about: Seq2Seq(config))
    model, tokenizer, _ = load_model_folder(folder, *kind, device, ("tokenizer",))
    return model, tokenizer
