"""Training and the four translations of C182-3, and other validation losses than the plotted one.

Importing this module raises ImportError if the package d2l is missing.

    data = d2l.MTFraEng(batch_size=128)
    model = make_model(data)  # the lecture's; make_model(data, FIXED) has none of its bugs
    d2l.Trainer(max_epochs=30, gradient_clip_val=1, num_gpus=1).fit(model, data)
    translate(model, data)
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch import nn

from course_lib.lectures.d2l_maps import Maps
from course_lib.lectures.d2l_transformer import (
    FIXED,
    LECTURE,
    Bugs,
    Seq2Seq,
    TransformerDecoder,
    TransformerEncoder,
    d2l,
)

SIZES = (256, 64, 4, 2, 0.2)  # num_hiddens, ffn_num_hiddens, num_heads, num_blk, dropout
ENGLISH = ("go .", "i lost .", "he's calm .", "i'm home .")
FRENCH = ("va !", "j'ai perdu .", "il est calme .", "je suis chez moi .")


@dataclass(frozen=True)
class Translation:
    """A sentence, its translation, and d2l's BLEU (k = 2, 0 to 1) against the lecture's translation."""

    english: str
    french: str
    bleu: float


def make_model(data: d2l.MTFraEng, bugs: Bugs = LECTURE) -> d2l.Seq2Seq:
    """The lecture's untrained model with these bugs."""
    encoder = TransformerEncoder(len(data.src_vocab), *SIZES, bugs=bugs)
    decoder = TransformerDecoder(len(data.tgt_vocab), *SIZES, bugs=bugs)
    kind = d2l.Seq2Seq if bugs.padding_in_loss else Seq2Seq
    return kind(encoder, decoder, tgt_pad=data.tgt_vocab["<pad>"], lr=0.001)


def fix(model: d2l.Seq2Seq, data: d2l.MTFraEng, bugs: Bugs = FIXED) -> d2l.Seq2Seq:
    """Model with the same weights but other bugs (by default none), in evaluation mode."""
    other = make_model(data, bugs)
    other.load_state_dict(model.state_dict())
    return other.to(next(model.parameters()).device).eval()


@torch.no_grad()
def translate(
    model: d2l.EncoderDecoder,
    data: d2l.MTFraEng,
    english: Sequence[str] = ENGLISH,
    french: Sequence[str] = FRENCH,
) -> list[Translation]:
    """The slide's translation cell: the output of d2l's `predict_step` up to the first `<eos>`."""
    device = next(model.parameters()).device
    batch = data.build(list(english), list(french))
    ids, _ = model.eval().predict_step(batch, device, data.num_steps)
    done = []
    for source, right, row in zip(english, french, ids, strict=True):
        words = data.tgt_vocab.to_tokens(row)
        said = " ".join(words[: words.index("<eos>")] if "<eos>" in words else words)
        done.append(Translation(source, said, d2l.bleu(said, right, k=2)))
    return done


def sentences(data: d2l.MTFraEng) -> list[tuple[str, str]]:
    """All pairs as d2l reads them, training pairs first, with spaces between words and punctuation."""
    read = data._tokenize(data._preprocess(data._download()), data.num_train + data.num_val)
    return [(" ".join(source[:-1]), " ".join(target[:-1])) for source, target in zip(*read, strict=True)]


def with_references(pairs: Sequence[tuple[str, str]], first: int, last: int) -> dict[str, list[str]]:
    """Distinct English sentences among pairs[first:last], each with all its French translations."""
    chosen = dict.fromkeys(english for english, _ in pairs[first:last])
    return {one: [french for english, french in pairs if english == one] for one in chosen}


def mean_bleu(model: d2l.EncoderDecoder, data: d2l.MTFraEng, asked: dict[str, list[str]]) -> float:
    """Mean over all sentences of d2l's BLEU (k = 2, 0 to 1) against the best reference."""
    said = translate(model, data, list(asked), [french[0] for french in asked.values()])
    best = [max(d2l.bleu(one.french, right, k=2) for right in asked[one.english]) for one in said]
    return fmean(best)


@torch.no_grad()
def attention_maps(model: d2l.EncoderDecoder, data: d2l.MTFraEng, english: str) -> Maps:
    """Attention maps of a translation, assembled from the rows that d2l's `predict_step` records."""
    device = next(model.parameters()).device
    batch = data.build([english], [english])
    ids, steps = model.eval().predict_step(batch, device, data.num_steps, save_attention_weights=True)
    said = data.tgt_vocab.to_tokens(ids[0])
    rows = said.index("<eos>") + 1 if "<eos>" in said else len(said)
    source = [*english.split(), "<eos>"]

    def tables(weights: Sequence[Sequence[torch.Tensor]], columns: int) -> Any:
        """Rows of all steps, padded with zeros to (layers, heads, rows, columns)."""
        steps = [torch.stack(list(layers))[:, :, 0, :columns] for layers in weights]
        whole = [nn.functional.pad(row, (0, columns - row.shape[-1])) for row in steps]
        return torch.stack(whole, dim=2)

    own, other = (
        tables([step[kind] for step in steps[:rows]], n) for kind, n in enumerate((rows, len(source)))
    )
    encoder = torch.stack(model.encoder.attention_weights)[:, :, : len(source), : len(source)]
    return Maps(tuple(source), tuple(said[:rows]), *(one.tolist() for one in (encoder, own, other)))


@torch.no_grad()
def sentence_losses(model: d2l.EncoderDecoder, data: d2l.MTFraEng) -> list[float]:
    """Loss of each validation sentence: the mean over its nine tokens, including padding."""
    device = next(model.parameters()).device
    *inputs, target = (array[data.num_train :].to(device) for array in data.arrays)
    logits = model.eval()(*inputs).transpose(1, 2)
    return nn.functional.cross_entropy(logits, target, reduction="none").mean(dim=1).tolist()


@torch.no_grad()
def validation_loss(model: d2l.EncoderDecoder, data: d2l.MTFraEng, padding: bool = True) -> float:
    """Mean validation loss per token. padding: whether padding tokens count.

    It differs from what d2l plots (`plotted_loss`), and depends on the bugs of `model`, too (`fix`).
    """
    device = next(model.parameters()).device
    *inputs, target = (array[data.num_train :].to(device) for array in data.arrays)
    ignored = -100 if padding else data.tgt_vocab["<pad>"]
    logits = model.eval()(*inputs).flatten(0, 1)
    return nn.functional.cross_entropy(logits, target.flatten(), ignore_index=ignored).item()


def plotted_loss(model: d2l.Module) -> float:
    """Last point of the validation curve: a mean over batches, even if the last batch is small."""
    return float(model.board.data["val_loss"][-1].y)


@contextmanager
def projected_tokens(*layers: nn.Module) -> Iterator[dict[str, int]]:
    """Context manager that counts, as "tokens", the vectors per sentence that pass through these layers."""
    count = {"tokens": 0}

    def add(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        count["tokens"] += inputs[0].shape[-2]

    handles = [layer.register_forward_hook(add) for layer in layers]
    try:
        yield count
    finally:
        for handle in handles:
            handle.remove()
