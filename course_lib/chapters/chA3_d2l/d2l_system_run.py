"""Runs of the lecture's d2l system: as it is, fixed, and with our blocks, three seeds each (appendix A3).

    python -m course_lib.experiments d2l_system_run --minutes 4

makes the missing runs of results/d2l_system.json. It needs d2l and the data set fra-eng, which is why it
has its own module: reading the results in `d2l_system` needs neither.
"""

import time
from dataclasses import asdict
from functools import cache
from statistics import fmean
from typing import Any

import torch

from course_lib.chapters.chA3_d2l.d2l_system import SEEDS, SYSTEMS, Facts, Run, Written
from course_lib.experiments.runner import Experiment, every
from course_lib.lectures.d2l_course import CourseDecoder, CourseEncoder
from course_lib.lectures.d2l_training import (
    ENGLISH,
    FRENCH,
    SIZES,
    attention_maps,
    fix,
    make_model,
    mean_bleu,
    sentence_losses,
    sentences,
    translate,
    validation_loss,
    with_references,
)
from course_lib.lectures.d2l_transformer import FIXED, LECTURE, d2l

EPOCHS = 30


@cache
def material() -> d2l.MTFraEng:
    """The lecture's data."""
    return d2l.MTFraEng(batch_size=128)


def make(system: str, seed: int) -> Run:
    """A training run; of the first one, attention maps are stored as well."""
    model, run = train(system, seed, material())
    if (system, seed) == (SYSTEMS[0], SEEDS[0]):
        EXPERIMENT.add("attention", shortened(asdict(attention_maps(model, material(), ENGLISH[-1]))))
    return run


def train(system: str, seed: int, data: d2l.MTFraEng) -> tuple[d2l.Seq2Seq, Run]:
    """Train as in the slides, then measure everything that is stored."""
    torch.manual_seed(seed)
    model = new_model(system, data)
    before = time.process_time()
    trainer = Watched(max_epochs=EPOCHS, gradient_clip_val=1, num_gpus=1)
    trainer.watch(data)
    trainer.fit(model, data)
    spent = time.process_time() - before - trainer.seconds
    ways = with_and_without_bugs(model, data, "masked", "future")
    return model, Run(
        system,
        seed,
        sum(parameter.numel() for parameter in model.parameters()),
        round(spent, 1),
        curve(model, "train_loss"),
        curve(model, "val_loss"),
        rounded(trainer.masked),
        {name: rounded(sentence_losses(one, data)) for name, one in ways.items()},
        {name: round(validation_loss(one, data, padding=False), 3) for name, one in ways.items()},
        {
            name: written(one, data)
            for name, one in with_and_without_bugs(model, data, "position", "zero").items()
        },
    )


class Watched(d2l.Trainer):
    """d2l's trainer, recording the loss of a causally masked decoder after each epoch, and its time."""

    def watch(self, data: d2l.MTFraEng) -> None:
        self.data, self.masked, self.seconds = data, [], 0.0

    def fit_epoch(self) -> None:
        super().fit_epoch()
        before = time.process_time()
        blocks = [block for block in self.model.decoder.modules() if hasattr(block, "bugs")]
        kept = [block.bugs for block in blocks]
        for block in blocks:
            block.bugs = FIXED
        losses = sentence_losses(self.model, self.data)
        for block, bugs in zip(blocks, kept, strict=True):
            block.bugs = bugs
        self.masked.append(fmean(losses))
        self.seconds += time.process_time() - before


def new_model(system: str, data: d2l.MTFraEng) -> d2l.Seq2Seq:
    if system != "ours":
        return make_model(data, LECTURE if system == "lecture" else FIXED)
    encoder = CourseEncoder(len(data.src_vocab), *SIZES)
    decoder = CourseDecoder(len(data.tgt_vocab), *SIZES)
    return d2l.Seq2Seq(encoder, decoder, tgt_pad=data.tgt_vocab["<pad>"], lr=0.001)


def with_and_without_bugs(model, data, right: str, wrong: str) -> dict[str, d2l.Seq2Seq]:
    """The trained weights in a system without bugs and, except for ours, in one with the lecture's."""
    if isinstance(model.encoder, CourseEncoder):
        return {right: model}
    return {right: fix(model, data), wrong: fix(model, data, LECTURE)}


def written(model: d2l.Seq2Seq, data: d2l.MTFraEng) -> Written:
    four = translate(model, data)
    pairs = sentences(data)
    train_on, held_out = divided(pairs, data)
    means = (mean_bleu(model, data, part) for part in (train_on, held_out))
    return Written(
        tuple(one.french for one in four),
        round(fmean(one.bleu for one in four), 3),
        *(round(mean, 3) for mean in means),
    )


def divided(pairs, data) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The distinct training sentences, and the distinct held-out ones that do not occur in training."""
    train_on = with_references(pairs, 0, data.num_train)
    rest = with_references(pairs, data.num_train, len(pairs))
    return train_on, {english: french for english, french in rest.items() if english not in train_on}


def counted(data: d2l.MTFraEng) -> Facts:
    """Statistics of the data."""
    pairs, known = sentences(data), data.tgt_vocab.token_to_idx
    train_on, held_out = divided(pairs, data)
    spelt = [all(word in known for word in french.split()) for _, french in pairs]
    return Facts(
        pairs=len(pairs),
        train_pairs=data.num_train,
        held_out_pairs=len(pairs) - data.num_train,
        train_sentences=len(train_on),
        held_out_sentences=len(held_out),
        train_spelt=sum(spelt[: data.num_train]),
        held_out_spelt=sum(spelt[data.num_train :]),
        four_seen=sum(pair in pairs[: data.num_train] for pair in zip(ENGLISH, FRENCH, strict=True)),
        padding=round((data.arrays[3] == data.tgt_vocab["<pad>"]).float().mean().item(), 3),
    )


def curve(model: d2l.Seq2Seq, name: str) -> tuple[float, ...]:
    """One value per epoch: the last of several."""
    points = [float(point.y) for point in model.board.data[name]]
    return rounded(points[len(points) // EPOCHS - 1 :: len(points) // EPOCHS])


def shortened(content: Any) -> Any:
    """The same content with numbers rounded to three digits."""
    if isinstance(content, float):
        return round(content, 3)
    if isinstance(content, dict):
        return {name: shortened(part) for name, part in content.items()}
    return [shortened(part) for part in content] if isinstance(content, list | tuple) else content


def rounded(numbers) -> tuple[float, ...]:
    return tuple(round(number, 3) for number in numbers)


EXPERIMENT = Experiment(
    __file__,
    {"trainings": every(system=SYSTEMS, seed=SEEDS)},
    make,
    dict,
    keys=("system", "seed"),
    name="d2l_system",
    settings=lambda: {"facts": asdict(counted(material()))},
)


if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
