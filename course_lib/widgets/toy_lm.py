"""Toy language model: stories of facts and questions, and a small GPT trained on them and stored."""

import random
from functools import cache
from pathlib import Path

import torch

from course_lib.datasets.batching import pad
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.language_modeling import LanguageModelLoss
from course_lib.text.tokenizers import EOS, WordTokenizer
from course_lib.training.config import TrainConfig, learning_rate
from course_lib.training.optim import make_optimizer
from course_lib.widgets import stored

PEOPLE = ("Ana", "Tom", "Eva", "Ben", "Mia", "Leo", "Zoe", "Sam")
VERBS = ("has", "wants", "sells")
COLOURS = ("red", "blue", "green", "black", "white")
THINGS = ("hat", "cup", "book", "ball", "lamp", "key", "coat", "boat")
QUESTIONS = (
    "Ana has a red hat . Tom sells a blue cup . who has the hat ?",
    "Eva sells a green boat . Sam wants a black key . what colour is the key ?",
)
PREFIXES = ("Mia wants a", "Ana has a red hat . Tom", "Ana has a red hat . Tom sells a blue cup . who")
CONFIG = {
    "d_model": 48, "heads": 4, "layers": 3, "max_tokens": 80, "positions": "rotary", "qk_norm": True,
    "zero_outputs": True,
}  # fmt: skip
TRAINING = TrainConfig(steps=200, optimizer="muon", lr=5e-3, warmup=20)
BATCH = 16
FILE = Path(__file__).parent / "models" / "toy_lm.safetensors"


def story(rng: random.Random) -> str:
    """A story: facts, then questions with answers; the first words of each list are more frequent."""

    def some(words: tuple[str, ...], many: int) -> list[str]:
        luck = {word: rng.random() ** (1 + rank / 2) for rank, word in enumerate(words)}
        return rng.sample(sorted(words, key=luck.__getitem__)[-many:], many)

    many = rng.randint(2, 3)
    facts = list(zip(some(PEOPLE, many), some(THINGS, many), strict=True))
    told, asked = [], []
    for person, thing in facts:
        verb, colour = some(VERBS, 1)[0], some(COLOURS, 1)[0]
        told.append(f"{person} {verb} a {colour} {thing} .")
        asked += [f"who {verb} the {thing} ? {person} .", f"what colour is the {thing} ? {colour} ."]
    return " ".join([*told, *rng.sample(asked, rng.randint(2, 2 * many))])


def vocabulary() -> WordTokenizer:
    """Word tokenizer with every word of the stories."""
    return WordTokenizer.train(
        [" ".join((*PEOPLE, *VERBS, *COLOURS, *THINGS, "a the who what colour is ? ."))]
    )


def new_model() -> GPT:
    """The untrained model."""
    return GPT(GPTConfig(vocab=len(vocabulary()), **CONFIG))


def train(steps: int | None = None, seed: int = 0) -> tuple[GPT, WordTokenizer]:
    """Train the model on freshly generated stories. steps: overrides the usual number."""
    rng, tokens = random.Random(seed), vocabulary()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        objective = LanguageModelLoss(new_model())
    optimizer = make_optimizer(objective, TRAINING)
    for step in range(steps or TRAINING.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, TRAINING.steps, TRAINING)
        loss, number = objective(pad([[*tokens.encode(story(rng)), EOS] for _ in range(BATCH)]))
        (loss / number).backward()
        optimizer.step()
        optimizer.zero_grad()
    return objective.model.eval(), tokens


@cache
def small_world() -> tuple[GPT, WordTokenizer]:
    """The stored model and its tokenizer; cached."""
    return stored.load(new_model, FILE), vocabulary()
