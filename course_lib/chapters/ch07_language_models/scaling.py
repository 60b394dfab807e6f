"""A scaling-law sweep: small GPTs on several amounts of text, and one tested prediction (chapter 7c).

    python -m course_lib.experiments scaling rates sweep --minutes 9
    python -m course_lib.experiments scaling predict
    python -m course_lib.experiments scaling test

rates: a learning rate for each size, chosen with the fewest tokens. sweep: every size with every number of
tokens. predict: the loss of a larger run, from the sweep alone. test: that run; it refuses to start before
the prediction is stored, and after that the sweep stays as it is.
"""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product

import torch
from torch import Tensor

from course_lib.chapters.ch07_language_models.scaling_law import Point, Prediction, predict
from course_lib.datasets import load_text
from course_lib.datasets.text_files import PathLike
from course_lib.experiments import storage
from course_lib.experiments.runner import Experiment, learn
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.language_modeling import LanguageModelLoss, TextBatches, mean_loss
from course_lib.text.tokenizers import CharTokenizer
from course_lib.training.config import TrainConfig

TEXT, CONTEXT, BATCH, LAYERS, D_HEAD = "tinyshakespeare", 64, 16, 2, 16
WIDTHS, STEPS, SEEDS = (16, 32, 64, 128), (128, 256, 512), (0, 1, 2)
RATES = (0.125, 0.25, 0.5, 1.0)  # learning rate times d_model: good rates of AdamW fall about as 1 / d_model
LARGER_WIDTH, LARGER_STEPS = 256, 960  # nearly the whole text, once
HELD_OUT = 60_000  # tokens


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training run of a model of two layers. lr: peak learning rate."""

    d_model: int
    steps: int
    lr: float
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Run(Point):
    """The result of a recipe. seconds: processor time of training."""

    recipe: Recipe
    seconds: float


@dataclass(frozen=True)
class Material:
    """Ids of a training text and of a held-out text, and the size of their vocabulary."""

    train: Tensor
    held_out: Tensor
    vocab: int


@cache
def material(name: PathLike = TEXT) -> Material:
    """A text by the name of its data set or by a path, in characters. Errors: as in `load_text`."""
    data = load_text(name)
    tokens = CharTokenizer.train([data.train, data.validation])
    train_ids, held_out = (torch.tensor(tokens.encode(text)) for text in (data.train, data.validation))
    return Material(train_ids, held_out[:HELD_OUT], len(tokens))


def new_model(d_model: int, vocab: int) -> GPT:
    """The untrained model; with rotary positions, no parameter depends on the context length."""
    heads = max(1, d_model // D_HEAD)
    sizes = {"d_model": d_model, "heads": heads, "layers": LAYERS, "max_tokens": CONTEXT}
    return GPT(GPTConfig(vocab=vocab, positions="rotary", **sizes))


def non_embedding(model: GPT) -> int:
    """Number of parameters without the embedding matrix; about 12 · layers · d_model²."""
    return sum(p.numel() for p in model.parameters()) - model.embedding.weight.numel()


def make(recipe: Recipe, data: Material | None = None) -> Run:
    """Train by the recipe, without showing any text twice, and measure the held-out loss.

    Raises ValueError if the text is shorter than the recipe needs.
    """
    data = data or material()
    tokens = recipe.steps * BATCH * CONTEXT
    if tokens + CONTEXT > len(data.train):
        raise ValueError(f"{recipe.steps} steps need {tokens} tokens, the text has {len(data.train)}")
    torch.manual_seed(recipe.seed)
    model = new_model(recipe.d_model, data.vocab)
    batches = TextBatches(data.train, CONTEXT, BATCH, recipe.seed)
    times = {"steps": recipe.steps, "warmup": recipe.steps // 10, "seed": recipe.seed}
    config = TrainConfig(lr=recipe.lr, schedule="cosine", weight_decay=0.1, precision="fp32", **times)
    _, seconds = learn(LanguageModelLoss(model), batches, config)
    loss = round(mean_loss(model, data.held_out), 4)
    return Run(recipe=recipe, parameters=non_embedding(model), tokens=tokens, loss=loss, seconds=seconds)


def stored(part: str) -> list[Run]:
    """The stored runs of a part: "rates", "sweep" or "test"."""
    return EXPERIMENT.part(part)


def prediction() -> Prediction | None:
    """The stored prediction for the larger run, made before that run; None if there is none yet."""
    found = EXPERIMENT.read().get("prediction")
    return Prediction(**{name: found[name] for name in ("loss", "low", "high")}) if found else None


def best_rate(d_model: int) -> float:
    """The rate with the lowest loss in the stored search.

    For a width that was not searched, that of the widest model, times the quotient of the widths.
    """
    searched = min(d_model, WIDTHS[-1])
    found = [run for run in stored("rates") if run.recipe.d_model == searched]
    return min(found, key=lambda run: run.loss).recipe.lr * searched / d_model


def planned(part: str) -> Iterator[Recipe]:
    """The recipes of a part; those of "sweep" and "test" need the stored rates."""
    if part == "rates":
        yield from (Recipe(d_model=d, steps=STEPS[0], lr=rate / d) for d, rate in product(WIDTHS, RATES))
    elif part == "sweep":
        for seed, d, steps in product(SEEDS, WIDTHS, STEPS):
            yield Recipe(d_model=d, steps=steps, lr=best_rate(d), seed=seed)
    else:
        yield Recipe(d_model=LARGER_WIDTH, steps=LARGER_STEPS, lr=best_rate(LARGER_WIDTH))


def store_prediction() -> None:
    """Predict the larger run from the sweep, and store that.

    Raises ValueError if runs of the sweep are missing, and if a prediction is stored already.
    """
    content, (larger,) = EXPERIMENT.read(), planned("test")
    if "prediction" in content or content["runs"].get("test"):
        raise ValueError("a prediction or its test is stored already")
    if missing := len(set(planned("sweep")) - {run.recipe for run in stored("sweep")}):
        raise ValueError(f"the sweep lacks {missing} of its {len(list(planned('sweep')))} runs")
    parameters = non_embedding(new_model(larger.d_model, material().vocab))
    tokens = larger.steps * BATCH * CONTEXT
    made = asdict(predict(stored("sweep"), parameters, tokens))
    losses = {name: round(loss, 4) for name, loss in made.items()}
    content["prediction"] = {"parameters": parameters, "tokens": tokens, **losses}
    storage.write(EXPERIMENT.path, content)
    print(content["prediction"])


def before(recipe: Recipe) -> Run:
    """A run that the prediction may use. Raises ValueError if that is stored already."""
    if prediction() is not None:
        raise ValueError("'rates' and 'sweep' must be run before the prediction, which is stored already")
    return make(recipe)


def after(recipe: Recipe) -> Run:
    """The run that tests the prediction. Raises ValueError if there is none yet."""
    if prediction() is None:
        raise ValueError("'test' must be run after the prediction, which is not stored yet")
    return make(recipe)


EXPERIMENT = Experiment(
    __file__,
    {part: partial(planned, part) for part in ("rates", "sweep", "test")},
    {"rates": before, "sweep": before, "test": after},
    Run,
    settings=lambda: {"text": TEXT, "context": CONTEXT, "batch": BATCH},
)


if __name__ == "__main__":
    if sys.argv[1:] == ["predict"]:
        store_prediction()
    else:
        EXPERIMENT.main(__doc__)
