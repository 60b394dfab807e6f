"""Three worked projects for teachers: a text, pairs and images, each with its baselines and three seeds.

    python -m course_lib.experiments worked_projects

The results are in results/worked_projects.json; docs/teaching.md tells what each of them shows. The Spanish
pairs and the plays are downloaded unless they are there; the digits are part of the course.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from course_lib.chapters.ch11_your_own_model.opening import open_project
from course_lib.chapters.ch11_your_own_model.project import Project
from course_lib.experiments.runner import Experiment

SEEDS = (0, 1, 2)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A run. limit: of the training examples. part: one in so many of them is used."""

    data: str
    kind: str
    limit: int
    d_model: int
    steps: int
    part: int = 1
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class Worked:
    """A result. score, baselines: on the test set, in `unit`. seconds: of training, on a busy machine."""

    recipe: Recipe
    unit: str
    score: float
    loss: float
    passes: float
    baselines: dict[str, float]
    seconds: float


@lru_cache(maxsize=2)
def opened(data: str, kind: str, limit: int, part: int) -> tuple[Project, dict[str, float]]:
    """The project of a recipe, and its baselines."""
    project = open_project(data, kind, limit)
    project = project.fewer(part) if part > 1 else project
    return project, {name: round(score, 3) for name, score in project.baselines().items()}


def make(recipe: Recipe) -> Worked:
    """Train and score by the recipe."""
    project, baselines = opened(recipe.data, recipe.kind, recipe.limit, recipe.part)
    done = project.train(recipe.d_model, recipe.steps, recipe.seed)
    return Worked(
        recipe=recipe,
        unit=project.unit,
        score=round(project.score(done.model), 3),
        loss=round(project.validation_loss(done.model), 4),
        passes=round(done.tokens / project.unique, 1),
        baselines=baselines,
        seconds=round(done.seconds, 1),
    )


def planned(
    data: str, kind: str, limit: int, steps: tuple[int, ...], parts: tuple[int, ...]
) -> Iterator[Recipe]:
    """Every seed of every setting of a project."""
    for seed in SEEDS:
        for number in steps:
            for part in parts:
                yield Recipe(
                    data=data, kind=kind, limit=limit, d_model=64, steps=number, part=part, seed=seed
                )


EXPERIMENT = Experiment(
    __file__,
    {
        "text": lambda: planned("tinyshakespeare", "text", 80_000, (100, 300), (1,)),
        "pairs": lambda: planned("spa-eng", "pairs", 4000, (400,), (1,)),
        "images": lambda: planned("digits", "images", 4000, (400,), (1, 8)),
    },
    make,
    Worked,
)

if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
