"""Three worked projects for teachers: a text, pairs and images, each with its baselines and three seeds.

    python -m course_lib.experiments worked_projects

The results are in results/worked_projects.json; docs/teaching.md tells what each of them shows. The Spanish
pairs and the plays are downloaded unless they are there; the digits are part of the course.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from course_lib.chapters.ch11_your_own_model.opening import open_project
from course_lib.chapters.ch11_your_own_model.project import Project
from course_lib.experiments.runner import Experiment, every


@lru_cache(maxsize=2)
def opened(data: str, kind: str, limit: int, part: int) -> tuple[Project, dict[str, float]]:
    """A project with one in `part` of its training examples, and its baselines."""
    project = open_project(data, kind, limit)
    project = project.fewer(part) if part > 1 else project
    return project, {name: round(score, 3) for name, score in project.baselines().items()}


def make(**recipe: Any) -> dict[str, Any]:
    """Train and score by the recipe: on the test set, in `unit`; seconds of training, on a busy machine."""
    project, baselines = opened(*(recipe[name] for name in ("data", "kind", "limit", "part")))
    done = project.train(recipe["d_model"], recipe["steps"], recipe["seed"])
    return {
        "recipe": recipe,
        "unit": project.unit,
        "score": round(project.score(done.model), 3),
        "loss": round(project.validation_loss(done.model), 4),
        "passes": round(done.tokens / project.unique, 1),
        "baselines": baselines,
        "seconds": round(done.seconds, 1),
    }


def planned(
    data: str, kind: str, limit: int, steps: tuple[int, ...], parts: tuple[int, ...]
) -> Callable[[], list[dict[str, Any]]]:
    """Every seed of every setting of a project; limit: of the training examples."""
    project = {"data": [data], "kind": [kind], "limit": [limit], "d_model": [64]}
    return every(seed=(0, 1, 2), steps=steps, part=parts, **project)


EXPERIMENT = Experiment(
    __file__,
    {
        "text": planned("tinyshakespeare", "text", 80_000, (100, 300), (1,)),
        "pairs": planned("spa-eng", "pairs", 4000, (400,), (1,)),
        "images": planned("digits", "images", 4000, (400,), (1, 8)),
    },
    make,
    dict,
)

if __name__ == "__main__":
    EXPERIMENT.main(__doc__)
