"""The stored runs of chapter 7's model: whole, as the notebook trains it, and repeatable."""

import json
import re
from pathlib import Path

import pytest
import torch

from course_lib.chapters.ch07_language_models import context as runs
from course_lib.models.gpt import GPT, GPTConfig

NOTEBOOK = Path(__file__).resolve().parents[3] / "notebooks" / "07_gpt_pretraining.ipynb"


def test_the_stored_losses_are_plausible() -> None:
    for run in runs.stored():
        assert len(run.by_context) == runs.MODELS[run.recipe.name][0] and 1 < run.loss < 4


def test_the_model_is_the_one_of_the_notebook() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    _, positions, steps, _ = runs.MODELS["rotary"]
    assert f'positions="{positions}"' in code
    settings = re.findall(r"TrainConfig\(steps=(\d+), lr=2e-2, warmup=30, optimizer=\"muon\"", code)
    assert str(steps) == settings[0] and "tokens=32, batch=32" in code and 32 * 32 == runs.QUESTIONS


def test_the_page_of_results_has_their_means() -> None:
    page = (NOTEBOOK.parents[1] / "docs" / "results.md").read_text(encoding="utf-8")
    for name in ("learned", "rotary"):
        losses = [run.loss for run in runs.stored() if run.recipe.name == name]
        assert len(losses) == 3 and f"| GPT, {name} positions | {sum(losses) / 3:.2f} |" in page


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ids:
        def __len__(self) -> int:
            return 11

    ids = torch.randint(11, (400,), generator=torch.Generator().manual_seed(0)).tolist()
    monkeypatch.setattr(runs, "material", lambda: (Ids(), ids, ids[:90]))
    monkeypatch.setattr(runs, "QUESTIONS", 64)
    models = {name: (*model[:2], 2, 1) for name, model in runs.MODELS.items()}
    monkeypatch.setattr(runs, "MODELS", models)


@pytest.mark.parametrize("name", ["learned", "one token"])
def test_a_recipe_can_be_repeated(tiny: None, name: str) -> None:
    first, again = (runs.make(runs.Recipe(name=name)) for _ in range(2))
    assert (first.loss, first.by_context) == (again.loss, again.by_context)
    assert len(first.by_context) == runs.MODELS[name][0]
    assert runs.make(runs.Recipe(name=name, seed=1)).loss != first.loss


def test_a_loss_by_context_is_the_mean_over_windows_at_every_token() -> None:
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab=7, d_model=8, heads=2, layers=1, max_tokens=3)).eval()
    ids = [1, 4, 2, 6, 3, 3]
    found = runs.by_context(model, ids)
    with torch.no_grad():
        for tokens in range(1, 4):
            each = [
                -model(torch.tensor([ids[i : i + tokens]]))[0, -1].log_softmax(0)[ids[i + tokens]].item()
                for i in range(3)
            ]
            assert found[tokens - 1] == pytest.approx(sum(each) / 3, rel=1e-4)
