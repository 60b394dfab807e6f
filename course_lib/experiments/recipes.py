"""Training recipes: named presets of hyperparameters, and the data, model and loss that they describe.

`recipe("translation", preset="spa-eng-8", seed=1)` returns the settings of one training run, and
`prepare_translation(settings)` builds what `course_lib.training.trainer.train` needs. The command
`python -m course_lib train <kind>` trains the same recipes; its flags are the settings.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any

from course_lib import datasets, models, tasks, text, training
from course_lib.utils.device import best_device

PRESETS = Path(__file__).parent / "presets.toml"
FORMS = {
    "translation": ("original", "modern"),
    "gpt": ("gpt-2", "modern"),
    "classification": ("pre-norm", "bert"),
}
SHARED = {  # settings that no preset names, and their defaults
    "steps": None, "minutes": None, "seed": 0, "precision": "auto", "compile": False, "device": None,
    "checkpoint_every": 500,
}  # fmt: skip
OWN = {  # the same for one kind of model; None: derived from other settings
    "translation": {"heads": None, "d_ff": None, "decoder_layers": None},
    "gpt": {},
    "vision": {"epochs": None, "checkpoint_epochs": None, "image_size": None},
    "classification": {},
}
OWN_DATA = {  # what holds for your own data in place of a default
    "translation": {"max_words": 0},
    "gpt": {"tokens": "bytes"},
    "vision": {"patch_size": 4, "batch": 16},  # few photos, too
    "classification": {},
}
TOKENIZER_SAMPLE = 20_000_000  # characters of a text in files, spread evenly, that a tokenizer learns from
HELD_OUT_SAMPLE = 2_000_000  # characters of a held-out text in files, spread evenly: more are not scored
HELD_OUT = dict.fromkeys(("validation", "test", "all"), HELD_OUT_SAMPLE)
LONG_TOKEN = 5  # characters
FAST = {"cpu": 50_000}  # tokens that training takes in per second, at most; a million elsewhere


@cache  # a command sees one state of the file, even if someone edits it meanwhile
def presets(kind: str) -> dict[str, dict[str, Any]]:
    """The presets of a kind of model, a key of OWN, by name: values for some settings."""
    return tomllib.loads(PRESETS.read_text(encoding="utf-8")).get(kind, {})


def defaults(kind: str) -> dict[str, Any]:
    """The values of settings that neither a preset nor the caller gives."""
    if kind == "translation":
        return {**presets(kind)["spa-eng-8"], "steps": None, "minutes": 10.0}
    first = next(iter(presets(kind).values()))
    return dict(first) if kind == "gpt" else {"minutes": 1.0, **first}


def settle(kind: str, preset: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """All values of the preset and the defaults; a given value that is not None takes precedence.

    The length of training is either `steps` or `minutes`: a given one drops the other.
    """
    own = OWN_DATA[kind] if given.get("data") and is_own(given["data"]) else {}
    values = {**defaults(kind), **own, **presets(kind).get(preset, {})}
    if given.get("minutes"):
        values["steps"] = None
    elif given.get("steps") or values.get("steps"):
        values["minutes"] = None
    return values | {key: value for key, value in given.items() if value is not None}


def is_own(data: str | list[str]) -> bool:
    """Whether this is a path of your own data, or two, rather than the name of a data set."""
    from course_lib.datasets.catalog import list_datasets

    return not isinstance(data, str) or data not in list_datasets()


def recipe(kind: str, *, preset: str | None = None, **overrides: Any) -> SimpleNamespace:
    """The settings of one training run, as attributes.

    kind: "translation", "gpt", "vision" or "classification". preset: a name in presets.toml; without it,
    the defaults hold.
    overrides: settings by name, such as `seed=1` or `steps=200`, which take precedence over the preset.
    Raises ValueError for a kind, a preset or a setting that does not exist.
    """
    if kind not in OWN:
        raise ValueError(f"kind={kind!r} is not one of {', '.join(OWN)}")
    if preset is not None and preset not in presets(kind):
        raise ValueError(f"preset={preset!r} is not one of {', '.join(presets(kind))}")
    known = {**SHARED, **OWN[kind], **defaults(kind)}
    if unknown := sorted(set(overrides) - set(known)):
        raise ValueError(
            f"{', '.join(unknown)}: not a setting of {kind}; those are {', '.join(sorted(known))}"
        )
    return SimpleNamespace(preset=preset, **{**SHARED, **OWN[kind], **settle(kind, preset, overrides)})


def train_config(settings):
    """The TrainConfig of settled settings."""
    names = {field.name for field in fields(training.TrainConfig)}
    return training.TrainConfig(**{key: value for key, value in vars(settings).items() if key in names})


def options(kind: str, form: str) -> dict[str, Any]:
    """The options of a model: for "modern", those that language models have adopted since GPT-2.

    For "bert", those of BERT, which a model needs to be exported.
    Raises ValueError for an unknown form.
    """
    from course_lib.pretrained.gpt2 import SINCE_GPT2

    if form not in FORMS[kind]:
        raise ValueError(f"form={form!r} is not one of {', '.join(FORMS[kind])}")
    bert = {"norm": "post", "types": 1, "epsilon": 1e-12}
    return {"modern": SINCE_GPT2, "bert": bert}.get(form, {})


def prepare_translation(settings):
    """Translation: data, tokenizer, loss (with the model), batches, TrainConfig."""
    import torch

    data = datasets.load_translation(settings.data, max_words=settings.max_words or None)
    tokenizer = text.Tokenizer.train(chain.from_iterable(data.train), vocab=settings.vocab)
    sizes = models.Seq2SeqConfig(
        vocab=len(tokenizer),
        d_model=settings.d_model,
        heads=settings.heads or max(1, settings.d_model // 64),
        d_ff=settings.d_ff or 4 * settings.d_model,
        encoder_layers=settings.layers,
        decoder_layers=settings.decoder_layers or settings.layers,
        dropout=settings.dropout,
        **options("translation", settings.form),
    )
    torch.manual_seed(settings.seed)
    loss = tasks.TranslationLoss(models.Seq2Seq(sizes), settings.label_smoothing)
    batches = tasks.TranslationBatches(data.train, tokenizer, settings.batch, sizes.max_tokens, settings.seed)
    return data, tokenizer, loss, batches, train_config(settings)


def prepare_gpt(settings):
    """Language modeling: texts, tokenizer, ids of each split, loss (with the model), batches, TrainConfig."""
    import torch

    from course_lib.datasets.text_files import TextFiles, own_path

    path = own_path(settings.data)
    if path:
        data = TextFiles(path, {**HELD_OUT, "train": enough(settings)})
    else:
        data = datasets.load_text(settings.data)
    tokenizer = text_tokenizer(settings, data.train)
    ids = {part: encoded(tokenizer, getattr(data, part)) for part in ("train", "validation", "test")}
    sizes = {name: getattr(settings, name) for name in ("d_model", "heads", "layers", "dropout")}
    torch.manual_seed(settings.seed)
    form = options("gpt", settings.form)
    config = models.GPTConfig(vocab=len(tokenizer), max_tokens=settings.context, **sizes, **form)
    loss = tasks.LanguageModelLoss(models.GPT(config))
    try:
        batches = tasks.TextBatches(ids["train"], settings.context, settings.batch, settings.seed)
    except ValueError as error:
        raise ValueError(f"{data.name}: {error}; take a smaller --context or --batch") from None
    return data, tokenizer, ids, loss, batches, train_config(settings)


def enough(settings) -> int:
    """The characters of a long text to train on: as many as the steps or the minutes take in, or more."""
    if settings.steps:
        tokens = settings.steps * settings.batch * settings.context
    else:
        kind = str(settings.device or best_device()).partition(":")[0]
        tokens = int(60 * settings.minutes * FAST.get(kind, 1_000_000))
    return max(TOKENIZER_SAMPLE, LONG_TOKEN * tokens)


def text_tokenizer(settings, train):
    """A tokenizer of the kind `settings.tokens`, trained on a text: a string or a part of `TextFiles`.

    Of a long part, evenly spread blocks are enough for byte-pair encoding.
    """
    from course_lib.datasets.text_files import spread

    pieces = [train] if isinstance(train, str) else train
    if settings.tokens in ("bpe", "bytes"):
        sample = pieces if isinstance(train, str) else spread(train, len(train) // TOKENIZER_SAMPLE + 1)
        if settings.tokens == "bytes":
            return text.Tokenizer.train(sample, settings.vocab, "bytes")
        lines = (line for piece in sample for line in piece.splitlines())
        return text.Tokenizer.train(lines, settings.vocab)
    kinds = {"characters": text.CharTokenizer, "words": text.WordTokenizer}
    if settings.tokens not in kinds:
        raise ValueError(f"tokens={settings.tokens!r} is not one of bpe, bytes, {', '.join(kinds)}")
    return kinds[settings.tokens].train(pieces)


def encoded(tokenizer, part):
    """The ids of a text: a string, or a part of `TextFiles`, whose ids are in a file, not in memory."""
    import numpy as np
    import torch

    if isinstance(part, str):
        return torch.tensor(tokenizer.encode(part))
    kind = np.int16 if len(tokenizer) <= 2**15 else np.int32
    with TemporaryFile() as file:
        for piece in part:
            file.write(np.array(tokenizer.encode(piece), kind).tobytes())
        if not file.tell():
            raise ValueError(f"{part.text.path} is too short: there is nothing for the {part.side} part")
        file.flush()
        return torch.from_numpy(np.memmap(file, kind))  # which stays after the file is closed, and nameless


def prepare_classification(settings):
    """Text classification: texts, tokenizer, ids of each split, loss (with the model), batches, TrainConfig.

    Texts of more than `settings.context` tokens, CLS included, are truncated.
    """
    import torch

    from course_lib.text.preparation import encode_clean

    data = datasets.load_labelled(settings.data)
    tokenizer = text.Tokenizer.train(data.train.sentences, settings.vocab)
    most = settings.context - 1
    ids = {
        part: [row[:most] for row in encode_clean(tokenizer, getattr(data, part).sentences)]
        for part in ("train", "validation", "test")
    }
    sizes = {name: getattr(settings, name) for name in ("d_model", "heads", "layers", "dropout")}
    torch.manual_seed(settings.seed)
    form = options("classification", settings.form)
    config = models.EncoderConfig(vocab=len(tokenizer), max_tokens=settings.context, **sizes, **form)
    model = tasks.TextClassifier(models.TextEncoder(config), len(data.classes), settings.pooling)
    loss = tasks.TextClassificationLoss(model, settings.label_smoothing)
    to = settings.context if settings.pooling == "flatten" else None
    numbers = {"classes": len(data.classes), "batch": settings.batch, "to": to, "seed": settings.seed}
    batches = tasks.LabelledBatches(ids["train"], data.train.labels, **numbers)
    return data, tokenizer, ids, loss, batches, train_config(settings)


def prepare_vision(settings):
    """Image classification: images, loss (with the model), batches, TrainConfig."""
    import torch

    from course_lib.tasks.augmentation import augmentation
    from course_lib.tasks.image_classification import check_fits

    size = getattr(settings, "image_size", None)
    if size and not is_own(settings.data):
        raise ValueError(f"image_size={size}: the images of {settings.data} have their own size")
    images = datasets.load_image_folder(settings.data, size) if size else datasets.load_images(settings.data)
    torch.manual_seed(settings.seed)
    model = models.ViT(vit_config(settings, images))
    check_fits(model, images.train)
    device = torch.device(settings.device or best_device())
    augment = augmentation(settings.augment, len(images.classes))
    batches = tasks.ImageBatches(images.train.to(device), settings.batch, settings.seed, augment)
    loss = tasks.ImageClassificationLoss(model, settings.label_smoothing)
    return images, loss, batches, vision_config(settings, batches)


def vit_config(settings, images):
    """The ViTConfig: image size, channels and classes from the images, everything else from the settings."""
    same = ("patch_size", "tokenizer", "positions", "pooling", "d_model", "heads", "layers", "dropout")
    channels, height, width = images.train.pixels.shape[1:]
    if height != width:
        raise ValueError(f"images of height={height} and width={width}: the model reads square ones")
    sizes = {"classes": len(images.classes), "image_size": height, "channels": channels}
    return models.ViTConfig(**sizes, **{name: getattr(settings, name) for name in same})


def vision_config(settings, batches):
    """The TrainConfig of a vision recipe, with epochs converted to steps and one evaluation per epoch."""
    per_epoch = len(batches)
    changes: dict[str, Any] = {"evaluate_every": per_epoch}
    if settings.checkpoint_epochs:
        changes["checkpoint_every"] = settings.checkpoint_epochs * per_epoch
    if settings.epochs:
        changes |= {"steps": max(1, round(settings.epochs * per_epoch)), "minutes": None}
    return replace(train_config(settings), **changes)
