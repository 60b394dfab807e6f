"""Trained runs: load the model of a run of `train`, and use it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.datasets.own_images import read_image
from course_lib.datasets.text_files import existing, require
from course_lib.tasks import image_classification, text_classification
from course_lib.tasks.language_modeling import load_language_model
from course_lib.tasks.translation import load_translator
from course_lib.text.preparation import encode_clean, warn_of_unknown
from course_lib.text.unicode_text import refuse_text
from course_lib.training import run_record
from course_lib.training.model_folder import CONFIG

KINDS = {  # of models, as in config.json, each with the name of its task
    "translator": "translation",
    "language model": "gpt",
    "image classifier": "vision",
    "text classifier": "classification",
}


@dataclass(frozen=True)
class Run:
    """The model of a run, in evaluation mode, with what it needs.

    task: "translation", "gpt", "vision" or "classification". tokenizer: None for images.
    classes: the names of the labels of a classifier. settings: of the run, as in its run.json; empty for a
    model without a run.
    """

    folder: Path
    task: str
    model: Any
    tokenizer: Any = None
    classes: Sequence[str] = ()
    settings: dict[str, Any] = field(default_factory=dict)


def model_folder(run: str | Path) -> Path:
    """The folder of the model of a run, or the folder itself if it is a model's.

    Raises ValueError if there is none, and says what there is instead.
    """
    folder = existing(run)
    if folder is None or not folder.is_dir():
        what = "is a file, not the folder of a run" if folder else "is no folder on this machine"
        raise ValueError(f"{str(run)!r:.200} {what}; `python -m course_lib runs` lists the runs")
    for place in (folder / "model", folder):
        if (place / CONFIG).is_file():
            return place
    if (folder / run_record.FILE).exists():
        raise ValueError(f"the run in {folder} has not finished: give its `train` command again to resume it")
    raise ValueError(f"{folder} holds no trained model; `python -m course_lib runs` lists the runs")


def task_of(folder: Path) -> str:
    """The task of the model in a folder, from its config.json. Raises ValueError if that is damaged."""
    try:
        kind = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["kind"]
        return KINDS[kind]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"{folder / CONFIG} names no kind of model: {error!r:.100}") from None


def load_run(run: str | Path, device: torch.device | str = "cpu") -> Run:
    """Load the trained model of a run: `load_run("runs/gpt-…")`, with its tokenizer or its classes.

    run: the folder that `train` has written, or the folder `model` in it.
    Raises ValueError if there is no finished run, and as `load_model_folder` does.

    >>> from tempfile import TemporaryDirectory
    >>> from course_lib.models import GPT, GPTConfig
    >>> from course_lib.tasks import continue_text, save_language_model
    >>> from course_lib.text import CharTokenizer
    >>> tokenizer = CharTokenizer.train(["hello"])
    >>> with TemporaryDirectory() as folder:  # as a run would
    ...     save_language_model(folder + "/model", GPT(GPTConfig(vocab=len(tokenizer))), tokenizer)
    ...     run = load_run(folder)
    >>> continue_text(run.model, run.tokenizer, "he", length=5).startswith("he")
    True
    """
    folder = model_folder(run)
    task, tokenizer = task_of(folder), None
    classes: Sequence[str] = ()
    record = folder.parent / run_record.FILE
    settings = run_record.read(folder.parent)["settings"] if record.exists() else {}
    model: Any
    if task == "vision":
        model, classes = image_classification.load_classifier(folder, device)
    elif task == "classification":
        model, tokenizer, classes = text_classification.load_text_classifier(folder, device)
    else:
        model, tokenizer = (load_translator if task == "translation" else load_language_model)(folder, device)
    return Run(folder.parent if settings else folder, task, model, tokenizer, classes, settings)


def read_images(run: Run, files: Sequence[str | Path]) -> Tensor:
    """Images from files, scaled to the size and the colors of a run's model."""
    config = run.model.config
    mode = "L" if config.channels == 1 else "RGB"
    arrays = [read_image(require(file), config.image_size, mode) for file in files]
    return torch.stack([torch.from_numpy(one.copy()).permute(2, 0, 1) for one in arrays])


def logits_of(run: Run, inputs: Sequence[Any]) -> Float[Tensor, "inputs classes"]:
    """The logits of a classifier for files of images, or for texts."""
    if run.task == "vision":
        return image_classification.predict(run.model, read_images(run, inputs))
    rows = encode_clean(run.tokenizer, inputs)
    warn_of_unknown(run.tokenizer, inputs, rows)
    most = run.model.encoder.config.max_tokens - 1
    if empty := [n for n, row in enumerate(rows) if not row]:
        raise ValueError(f"text {empty[0] + 1} is empty: there is nothing to classify")
    return text_classification.predict(run.model, [row[:most] for row in rows])


def classify(run: Run, inputs: Sequence[Any]) -> list[tuple[str, float]]:
    """The most likely class of each input, and its probability.

    inputs: paths of images, or texts. Raises ValueError for the run of another task, for none or empty
    inputs, and for damaged images.

    >>> from pathlib import Path
    >>> from course_lib.models import EncoderConfig, TextEncoder
    >>> from course_lib.text import CharTokenizer
    >>> tokenizer = CharTokenizer.train(["a good film"])
    >>> model = TextClassifier(TextEncoder(EncoderConfig(vocab=len(tokenizer))), classes=2)  # untrained
    >>> run = Run(Path("."), "classification", model, tokenizer, ["bad", "good"])
    >>> classify(run, ["a film"])
    [('bad', 0.5)]
    """
    if not run.classes:
        raise ValueError(f"the model in {run.folder} is of the task {run.task}: it does not classify")
    refuse_text(inputs=inputs)
    if not inputs:
        raise ValueError("there is nothing to classify")
    probabilities, best = logits_of(run, inputs).softmax(-1).max(-1)
    return [(run.classes[i], p) for i, p in zip(best.tolist(), probabilities.tolist(), strict=True)]
