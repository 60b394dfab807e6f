"""Stored training runs of the C182-3 system: the lecture's, the fixed one, and one with our blocks.

Reading them needs no d2l. `python -m course_lib.experiments d2l_system_run` makes them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.experiments import storage
from course_lib.lectures.d2l_maps import Maps

SYSTEMS = ("lecture", "fixed", "ours")
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Written:
    """Translations of the lecture's four sentences and their mean BLEU (k = 2, 0 to 1), and the mean BLEU on
    all distinct training sentences and on all held-out ones."""

    four: tuple[str, ...]
    four_bleu: float
    train_bleu: float
    held_out_bleu: float


@dataclass(frozen=True)
class Run:
    """One training run of 30 epochs.

    seconds: processor time. train, plotted: training loss and plotted validation loss after each epoch.
    masked: mean validation loss per sentence after each epoch, with a causal mask, padding included.
    losses: of each validation sentence at the end, padding included. word_loss: mean over words, padding
    excluded. Both are given "masked" and, where the system allows it, with the "future" visible.
    written: translations with the correct "position" of each token and, if the system does that, with "zero".
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
    """Statistics of the data: English-French pairs, and distinct English sentences.

    spelt: pairs whose French sentence has no out-of-vocabulary word.
    four_seen: how many of the lecture's four pairs are training pairs.
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


def content() -> dict[str, Any]:
    """The file of results."""
    return storage.read(Path(__file__).parent / "results" / "d2l_system.json")


def stored() -> list[Run]:
    """The stored runs, by system and seed."""
    return [storage.typed(Run, run) for run in content()["runs"]["trainings"]]


def facts() -> Facts:
    """The stored statistics of the data."""
    return Facts(**content()["facts"])


def maps() -> Maps:
    """Attention maps of the lecture's system (seed 0) for one of its four sentences."""
    (found,) = content()["runs"]["attention"]
    return Maps(**{**found, "source": tuple(found["source"]), "target": tuple(found["target"])})


def runs_of(system: str) -> list[Run]:
    """The stored runs of a system, by seed. Raises ValueError for an unknown system."""
    if system not in SYSTEMS:
        raise ValueError(f"system={system!r} is not one of {SYSTEMS}")
    return [run for run in stored() if run.system == system]
