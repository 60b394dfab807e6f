"""One translator trained many ways, with one thing changed in each, all at equal cost (chapter 6d).

The runs were made once and are in results/translation_tries.json: the preset "spa-eng-8-original" for 2,000
steps, or on the first 10,000 pairs for 1,500, with as many steps fewer as a step of the variant costs more
(processor time on one thread, in bf16). They are scored on the validation sentences, so that choosing among
them leaves the test sentences untouched. The script is in the repository's history: `git show
af8f3df:course_lib/chapters/ch06_translation/translation_tries.py`.
"""

from dataclasses import dataclass

from course_lib.experiments import storage

RESULTS = storage.results_of(__file__) / "translation_tries.json"
ABOUT = {
    "base": "as in the preset",
    "muon": "Muon, learning rate 0.004",
    "few": "as in the preset",
    "few-dropout": "dropout 0.1",
    "few-bpe-dropout": "BPE dropout 0.1",
    "few-r-drop": "dropout 0.1, R-Drop",
}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training run and its results.

    name: of the variant. cost: of a step, as a multiple of the preset's. seconds: processor time.
    bleu, chrf: sacrebleu's on the validation sentences, greedy decoding. loss: on them, in nats per token.
    averaged: BLEU of the same model with its weights averaged over about the last 100 steps.
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
        """What is changed, and the seed if it is not 0."""
        return ABOUT[self.name] + (f", seed {self.seed}" if self.seed else "")

    @property
    def few(self) -> bool:
        """Whether it was trained on few pairs."""
        return self.name.startswith("few")

    @property
    def passes(self) -> float:
        """The number of epochs."""
        return self.steps * self.batch / self.pairs


def stored() -> list[Run]:
    """The stored runs, ordered as ABOUT and by seed."""
    runs, order = [Run(**run) for run in storage.read(RESULTS)["runs"]["tries"]], list(ABOUT)
    return sorted(runs, key=lambda run: (order.index(run.name), run.seed))
