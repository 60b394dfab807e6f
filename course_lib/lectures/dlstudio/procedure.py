"""Training and evaluation of the lecture's systems: one switch per deviation of the procedure."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.blocks import is_pre_norm
from course_lib.lectures.dlstudio.transformer import TransformerFG
from course_lib.lectures.dlstudio.words import EOS, SOS, real_words
from course_lib.training.config import TrainConfig, learning_rate

# besides the learning rate, the two scripts differ in their Adam settings
ADAM = {"post": {"betas": (0.9, 0.98), "eps": 1e-6}, "pre": {"betas": (0.9, 0.999), "eps": 1e-8}}


@dataclass(frozen=True, kw_only=True)
class Procedure:
    """Switches (all off by default) and hyperparameters. Rows refer to the course's list.

    frozen_embeddings: embeddings are in no optimizer and stay random (row 7).
    new_embeddings: evaluation uses newly drawn random embeddings (row 8).
    no_feedback: not autoregressive: the decoder input is always "SOS EOS EOS …" (row 12).
    lecture_rates: FG has 4000 warm-up steps to 1.98e-3 (at d_model 256), PreLN a constant 1e-5 (row 16).
    tests_on_training: the sentences shown and scored are training sentences (row 17).
    never_eval: the model stays in training mode (row 17).

    batch: batch size in sentence pairs. peak, warmup: peak learning rate for both FG and PreLN, and linear
    warm-up steps; then it decays with the inverse square root of the step. seed: of the order of pairs.
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
        """Procedure behind the lecture's results. Source: DLStudio 2.4.3; Kak slides 75-82."""
        return cls(
            frozen_embeddings=True,
            new_embeddings=True,
            no_feedback=True,
            lecture_rates=True,
            tests_on_training=True,
            never_eval=True,
        )

    def rate(self, step: int, place_of_norm: str, d_model: int) -> float:
        """Learning rate at step 0, 1, …"""
        if not self.lecture_rates:
            n = step + 1
            return self.peak * min(n / self.warmup, (self.warmup / n) ** 0.5)
        if is_pre_norm(place_of_norm):
            return 1e-5
        return learning_rate(step, None, TrainConfig(steps=1, schedule="noam", lr=2.0, warmup=4000), d_model)


def loss_of(
    model: TransformerFG, source: Int[Tensor, "batch tokens"], target: Int[Tensor, "batch tokens"]
) -> Float[Tensor, ""]:
    """Cross-entropy of the target tokens, summed over a sentence and averaged over the batch.

    Source: DLStudio 2.4.3, training, lines (P) to (R); Szegedy et al. 2016 (label smoothing, 0.1).
    """
    log_probabilities, _ = model(source, target)
    smoothing = 0.0 if model.deviations.no_label_smoothing else 0.1
    words = log_probabilities[:, 1:].transpose(1, 2)  # slot 0 predicts nothing
    # its own log-softmax leaves log-probabilities as they are
    losses = F.cross_entropy(words, target[:, 1:], reduction="none", label_smoothing=smoothing)
    if not model.deviations.padding_counted:
        losses = losses * real_words(target)[:, 1:]
    return losses.sum() / len(target)


def training(
    model: TransformerFG,
    source: Int[Tensor, "pairs tokens"],
    target: Int[Tensor, "pairs tokens"],
    procedure: Procedure,
) -> Iterator[float]:
    """Training loop without end: yields the loss after each Adam step."""
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
    """Context manager: set the model up for evaluation by this procedure, and restore it afterwards."""
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
    """Output ids of each source sentence, including slot 0.

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
        first = EOS if model.deviations.starts_with_eos else SOS
        return target.index_fill(1, torch.tensor([0], device=target.device), first)
