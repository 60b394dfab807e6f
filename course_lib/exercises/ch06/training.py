"""The training loop with teacher forcing."""

from statistics import fmean

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim import Optimizer

from course_lib.datasets.batching import pad
from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.text.tokenizers import BOS, EOS, PAD

Batches = list[tuple[Tensor, Tensor]]
FIRST, REST = slice(None, -1), slice(1, None)  # all tokens but the last one; all but the first one
IGNORED_BY_DEFAULT = -100  # no id, so that padding counts


def _train(
    inputs: slice = FIRST,
    labels: slice = REST,
    pad_id: int = PAD,
    zero: bool = True,
    step: bool = True,
    backwards: bool = False,
    read: slice = slice(None),
) -> Answer:
    """A training loop, with one part left out or changed."""

    def train(model: Seq2Seq, batches: Batches, optimizer: Optimizer) -> list[float]:
        losses = []
        for source, target in batches:
            first, second = (target, source) if backwards else (source, target)
            logits = model(first[:, read], second[:, inputs])
            expected = (source if backwards else target)[:, labels]
            loss = F.cross_entropy(logits.flatten(0, 1), expected.flatten(), ignore_index=pad_id)
            if zero:
                optimizer.zero_grad()
            loss.backward()
            if step:
                optimizer.step()
            losses.append(loss.item())
        return losses

    return train


def _arguments(optimizer: type[Optimizer], rate: float) -> tuple[Seq2Seq, Batches, Optimizer]:
    config = Seq2SeqConfig(
        vocab=12, d_model=8, heads=2, d_ff=16, encoder_layers=1, decoder_layers=1, max_tokens=8, dropout=0.0
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Seq2Seq(config)
    texts = [([5, 6], [7, 8, 9]), ([6, 10, 5], [9, 7]), ([11, 5], [10, 8, 8, 7]), ([10], [11])]
    pairs = [([*source, EOS], [BOS, *target, EOS]) for source, target in texts]
    halves = [pairs[:2], pairs[2:], pairs[1:3]]
    batches = [tuple(pad(rows) for rows in zip(*some, strict=True)) for some in halves]
    return model, batches, optimizer(model.parameters(), lr=rate)


TRAIN = Exercise(
    id="06.train",
    reference=lambda model, batches, optimizer: _train()(model, batches, optimizer),
    inputs=(_arguments(torch.optim.SGD, 0.5), _arguments(torch.optim.Adam, 0.05)),
    mistakes=(
        mistake(
            "your code does not shift",
            "Then the label at each position is a token that the decoder reads there, and copying it is "
            "enough. It reads target[:, :-1] and must predict target[:, 1:].",
            _train(inputs=slice(None), labels=slice(None)),
            _train(inputs=FIRST, labels=FIRST),
            _train(inputs=REST, labels=REST),
        ),
        mistake(
            "your code swaps what the decoder reads and what it must predict",
            "It reads BOS first and never has to predict it. Read target[:, :-1], predict target[:, 1:].",
            _train(inputs=REST, labels=FIRST),
        ),
        mistake(
            "your loss counts the padding",
            "Pass ignore_index=PAD to F.cross_entropy, or use your loss of exercise 2.",
            _train(pad_id=IGNORED_BY_DEFAULT),
        ),
        mistake(
            "your code adds up the gradients of all batches",
            "backward() adds to the gradients that are already there. Call optimizer.zero_grad() before it.",
            _train(zero=False),
        ),
        mistake(
            "your code never changes the parameters",
            "After backward(), call optimizer.step(). If you do, check that zero_grad() does not come "
            "between them: it deletes the gradients.",
            _train(step=False),
        ),
        mistake(
            "your code translates in the wrong direction",
            "The encoder reads the source and the decoder the target: model(source, target[:, :-1]).",
            _train(backwards=True),
        ),
        mistake(
            "your code returns only the last loss",
            "Return a list with one number per batch. Append loss.item() inside the loop.",
            lambda model, batches, optimizer: _train()(model, batches, optimizer)[-1],
            lambda model, batches, optimizer: _train()(model, batches, optimizer)[-1:],
        ),
        mistake(
            "your code stops after the first batch",
            "`return` ends the loop. Move it out of the loop, to the indentation of `for`.",
            lambda model, batches, optimizer: _train()(model, batches, optimizer)[:1],
        ),
        mistake(
            "your code shifts the source, too",
            "Only what must be predicted is shifted. The encoder may read the whole source.",
            _train(read=FIRST),
            _train(read=REST),
        ),
        mistake(
            "your code returns one number for all batches",
            "Return a list with one number per batch. Append loss.item() inside the loop.",
            lambda model, batches, optimizer: fmean(_train()(model, batches, optimizer)),
            lambda model, batches, optimizer: sum(_train()(model, batches, optimizer)),
        ),
    ),
)
