"""The stored trainings of the C182-3 system: the lecture's, the mended one, and our blocks in its place.

Reading them needs no d2l. They are remade by `cd tests && python -m benchmarks.d2l_runs`.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_name("d2l_runs.json")
SYSTEMS = ("lecture", "mended", "ours")
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Written:
    """What a model writes: the four sentences of the lecture and their mean BLEU (k = 2, 0 to 1), and the
    mean BLEU on all different training sentences and on all held-out ones."""

    four: tuple[str, ...]
    four_bleu: float
    train_bleu: float
    held_out_bleu: float


@dataclass(frozen=True)
class Run:
    """One training of 30 epochs.

    seconds: of one processor. train, plotted: training loss and plotted validation loss of each epoch.
    masked: the loss of a validation sentence after each epoch, padding included, later words hidden.
    losses: of each validation sentence at the end, padding included, and word_loss: the mean over words
    without padding; both "masked" and, where the system can do that, with the "future" in sight.
    written: with the "position" of each token as it should be, and, where the system does that, with "zero".
    """

    system: str
    seed: int
    parameters: int
    seconds: float
    train: tuple[float, ...]
    plotted: tuple[float, ...]
    masked: tuple[float, ...]
    losses: dict[str, tuple[float, ...]]
    word_loss: dict[str, float]
    written: dict[str, Written]


@dataclass(frozen=True)
class Facts:
    """The data, counted. Pairs: of an English and a French sentence. Sentences: different English ones.

    spelt: pairs whose French sentence has no word that is rarer than the vocabulary allows.
    four_seen: how many pairs of the lecture's four are training pairs.
    """

    pairs: int
    train_pairs: int
    held_out_pairs: int
    train_sentences: int
    held_out_sentences: int
    train_spelt: int
    held_out_spelt: int
    four_seen: int
    padding: float


@dataclass(frozen=True)
class Maps:
    """Attention weights for one sentence: (layers, heads, queries, keys), as nested lists.

    source, target: the words read and the words written, which label the rows and the columns.
    encoder, decoder: self-attention. cross: from the words written to the words read.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    encoder: list[list[list[list[float]]]]
    decoder: list[list[list[list[float]]]]
    cross: list[list[list[list[float]]]]


@cache
def stored() -> list[Run]:
    """The stored runs, by system and seed."""
    return [as_run(run) for run in _content()["runs"]["trainings"]]


@cache
def facts() -> Facts:
    return Facts(**_content()["facts"])


@cache
def maps() -> Maps:
    """Of the lecture's system with seed 0, for one of its four sentences."""
    (content,) = _content()["runs"]["attention"]
    return Maps(**{**content, "source": tuple(content["source"]), "target": tuple(content["target"])})


def runs_of(system: str) -> list[Run]:
    """The stored runs of a system, by seed; ValueError for a system that there is not."""
    if system not in SYSTEMS:
        raise ValueError(f"system={system!r} is none of {SYSTEMS}")
    return [run for run in stored() if run.system == system]


def as_run(run: dict[str, Any]) -> Run:
    written = {
        way: Written(**{**found, "four": tuple(found["four"])}) for way, found in run["written"].items()
    }
    losses = {way: tuple(numbers) for way, numbers in run["losses"].items()}
    curves = {name: tuple(run[name]) for name in ("train", "plotted", "masked")}
    return Run(**{**run, **curves, "losses": losses, "written": written})


def _content() -> dict[str, Any]:
    return json.loads(STORED.read_text(encoding="utf-8"))
