"""How the lecture's systems were trained and evaluated: one switch for each oddity of the procedure."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.lectures.dlstudio.transformer import TransformerFG
from course_lib.lectures.dlstudio.words import EOS, SOS, real_words
from course_lib.schedules import TrainConfig, learning_rate

# beside the rate, the two scripts differ in the settings of Adam
ADAM = {"post": {"betas": (0.9, 0.98), "eps": 1e-6}, "pre": {"betas": (0.9, 0.999), "eps": 1e-8}}


@dataclass(frozen=True, kw_only=True)
class Procedure:
    """The switches, all off by default, and the numbers. The rows are those of the course's list.

    frozen_embeddings: word vectors never reach an optimizer and stay random (row 7).
    new_embeddings: for evaluation the word vectors are drawn anew (row 8).
    no_feedback: the decoder is never given the words that it has written, but "SOS EOS EOS …" (row 12).
    lecture_rates: FG has a warm-up of 4000 steps to 1.98e-3 (at d_model 256), PreLN always 1e-5 (row 16).
    tests_on_training: the sentences that are shown and scored were trained on (row 17).
    never_eval: the model stays in training mode (row 17).

    batch: sentence pairs. peak, warmup: highest learning rate, for FG and PreLN alike, and the steps of
    linear rise to it; it falls with the square root of the steps. seed: of the order of the pairs.
    """

    frozen_embeddings: bool = False
    new_embeddings: bool = False
    no_feedback: bool = False
    lecture_rates: bool = False
    tests_on_training: bool = False
    never_eval: bool = False
    batch: int = 50
    peak: float = 1e-3
    warmup: int = 200
    seed: int = 0

    @classmethod
    def lecture(cls) -> "Procedure":
        """As the lecture's results were made. Source: DLStudio 2.4.3; Kak slides 75-82."""
        return cls(
            frozen_embeddings=True,
            new_embeddings=True,
            no_feedback=True,
            lecture_rates=True,
            tests_on_training=True,
            never_eval=True,
        )

    def rate(self, step: int, place_of_norm: str, d_model: int) -> float:
        """The learning rate of step 0, 1, …"""
        if not self.lecture_rates:
            n = step + 1
            return self.peak * min(n / self.warmup, (self.warmup / n) ** 0.5)
        if place_of_norm == "pre":
            return 1e-5
        return learning_rate(step, None, TrainConfig(steps=1, schedule="noam", lr=2.0, warmup=4000), d_model)


def loss_of(
    model: TransformerFG, source: Int[Tensor, "batch tokens"], target: Int[Tensor, "batch tokens"]
) -> Float[Tensor, ""]:
    """Negative log-probability of the right words, summed over a sentence, averaged over the batch.

    Source: DLStudio 2.4.3, training, lines (P) to (R); Szegedy et al. 2016 (label smoothing, 0.1).
    """
    log_probabilities, _ = model(source, target)
    smoothing = 0.0 if model.oddities.no_label_smoothing else 0.1
    words = log_probabilities[:, 1:].transpose(1, 2)  # slot 0 predicts nothing
    losses = F.cross_entropy(words, target[:, 1:], reduction="none", label_smoothing=smoothing)
    if not model.oddities.padding_counted:
        losses = losses * real_words(target)[:, 1:]
    return losses.sum() / len(target)


def training(
    model: TransformerFG,
    source: Int[Tensor, "pairs tokens"],
    target: Int[Tensor, "pairs tokens"],
    procedure: Procedure,
) -> Iterator[float]:
    """Train without end: one step of Adam for each loss that is asked for."""
    groups = [model.encoder, model.decoder] if procedure.frozen_embeddings else [model]
    parameters = list(nn.ModuleList(groups).parameters())
    place, step = model.place_of_norm, 0
    optimizer = torch.optim.Adam(parameters, **ADAM[place if procedure.lecture_rates else "post"])
    generator = torch.Generator().manual_seed(procedure.seed)
    model.train()
    while True:
        for rows in torch.randperm(len(source), generator=generator).split(procedure.batch):
            optimizer.param_groups[0]["lr"] = procedure.rate(step, place, model.config.d_model)
            rows = rows.to(source.device)
            loss = loss_of(model, source[rows], target[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            yield loss.item()


@contextmanager
def evaluation(model: TransformerFG, procedure: Procedure) -> Iterator[None]:
    """Within the block, the model is as the procedure evaluates it; afterwards it is as before."""
    mode, tables = model.training, [model.embed_source, model.embed_target]
    learnt = [table.embedding.weight.detach().clone() for table in tables]
    try:
        with torch.no_grad():
            if not procedure.never_eval:
                model.eval()
            if procedure.new_embeddings:
                for table in tables:
                    table.draw()
            yield
    finally:
        model.train(mode)
        for table, weight in zip(tables, learnt, strict=True):
            table.embedding.weight.data.copy_(weight)


def translate(
    model: TransformerFG, source: Int[Tensor, "batch tokens"], procedure: Procedure
) -> Int[Tensor, "batch tokens"]:
    """The words that the model writes for each source sentence, slot 0 included.

    Source: DLStudio 2.4.3, evaluation, lines (A) to (I).
    """
    stub = torch.full_like(source, EOS)
    stub[:, 0] = SOS
    with evaluation(model, procedure):
        if procedure.no_feedback:
            return model(source, stub)[1]
        memory, target = model.encode(source), stub
        for slot in range(1, source.shape[1]):
            target[:, slot] = model.decode(target, memory, source, [slot])[:, 0].argmax(-1)
        first = EOS if model.oddities.starts_with_eos else SOS
        return target.index_fill(1, torch.tensor([0], device=target.device), first)
