"""Trainings of one translator with one thing changed in each, all for as long, as they came out.

They are remade by `cd tests && python -m benchmarks.translation_tries`.
"""

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

STORED = Path(__file__).with_name("translation_tries.json")
STEPS, FEW_STEPS, FEW = 2000, 1500, 10_000  # steps on all pairs, steps on few of them, how many these are


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to train the preset "spa-eng-8" for STEPS steps, or on the first FEW pairs for FEW_STEPS.

    about: what is changed. flags: those of `train translation`. schedule: after the warm-up.
    bpe_dropout: share of the merges of byte-pair encoding that are left out at random.
    r_drop: weight of the distance between two passes with dropout.
    works_like: the variant whose steps take as much work; dearer steps are fewer.
    """

    about: str
    flags: dict[str, int | float | str] = field(default_factory=dict)
    few: bool = False
    schedule: str = "linear"
    bpe_dropout: float = 0.0
    r_drop: float = 0.0
    works_like: str = "base"


VARIANTS = {
    "base": Variant(about="as in the preset"),
    "adamw-fast": Variant(about="AdamW, twice the rate", flags={"lr": 0.004}),
    "muon": Variant(about="Muon, rate 0.004", flags={"optimizer": "muon", "lr": 0.004}, works_like="muon"),
    "muon-fast": Variant(
        about="Muon, rate 0.008", flags={"optimizer": "muon", "lr": 0.008}, works_like="muon"
    ),
    "unsmoothed": Variant(about="no label smoothing", flags={"label-smoothing": 0.0}),
    "constant": Variant(about="constant rate", schedule="constant"),
    "few": Variant(about="as in the preset", few=True),
    "few-dropout": Variant(
        about="dropout 0.1", flags={"dropout": 0.1}, few=True, works_like="few-dropout"
    ),
    "few-bpe-dropout": Variant(
        about="BPE dropout 0.1", bpe_dropout=0.1, few=True, works_like="few-bpe-dropout"
    ),
    "few-r-drop": Variant(
        about="dropout 0.1, R-Drop", flags={"dropout": 0.1}, r_drop=5.0, few=True, works_like="few-r-drop"
    ),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training, and what came of it.

    name: of the variant. cost: of a step, as a multiple of the preset's. seconds: of processor time.
    bleu, chrf: sacrebleu's on the validation sentences, greedily. loss: on these, in nats for each token.
    averaged: BLEU of the same model with the average of its weights over the last 100 steps or so.
    """

    name: str
    seed: int
    pairs: int
    steps: int
    batch: int
    cost: float
    seconds: float
    loss: float
    bleu: float
    chrf: float
    averaged: float

    @property
    def about(self) -> str:
        """What is changed, and the seed where it is not 0."""
        return VARIANTS[self.name].about + (f", seed {self.seed}" if self.seed else "")

    @property
    def few(self) -> bool:
        """Whether it was trained on few pairs."""
        return VARIANTS[self.name].few

    @property
    def passes(self) -> float:
        """How often each pair was seen."""
        return self.steps * self.batch / self.pairs


@cache
def stored() -> list[Run]:
    """The stored runs, in the order of VARIANTS and of their seeds; there may be none."""
    parts = json.loads(STORED.read_text(encoding="utf-8"))["runs"] if STORED.exists() else {}
    runs = parts.get("tries", [])
    order = list(VARIANTS)
    return sorted((Run(**run) for run in runs), key=lambda run: (order.index(run.name), run.seed))
