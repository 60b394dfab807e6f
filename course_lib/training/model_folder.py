"""Model folders: the configuration, tokenizer and weights of a saved model."""

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from course_lib.text.tokenizers import Vocabulary, load_tokenizer
from course_lib.training.model_files import load_model, save_model
from course_lib.utils.files import atomic_path

Model = TypeVar("Model", bound=nn.Module)

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokens.json", "model.safetensors"


def save_model_folder(
    folder: str | Path,
    kind: str,
    model: nn.Module,
    config: Any,
    tokenizer: Vocabulary | None = None,
    **more: Any,
) -> None:
    """Write a model for `load_model_folder`.

    kind: "translator", "language model", "image classifier" or "text classifier".
    config: the model's configuration, a dataclass. more: other values that this kind needs, for config.json.
    Other files in the folder stay, such as a README. Raises ValueError if it holds a folder.
    """
    about = {"kind": kind, "model": asdict(config), **more}
    with atomic_path(folder) as room:
        room.mkdir()
        for other in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if other.is_dir():
                raise ValueError(f"{folder} holds the folder {other.name}; choose a new folder for the model")
            if other.name not in (CONFIG, TOKENIZER, WEIGHTS):
                shutil.copy2(other, room)
        if tokenizer is not None:
            about["tokenizer"] = tokenizer.fingerprint
            tokenizer.save(room / TOKENIZER)
        (room / CONFIG).write_text(json.dumps(about, indent=2), encoding="utf-8")
        save_model(model, room / WEIGHTS)


def load_model_folder(
    folder: str | Path,
    kind: str,
    config_type: type,
    build: Callable[[Any, dict[str, Any]], Model],
    device: torch.device | str = "cpu",
    more: Collection[str] = (),
) -> tuple[Model, Any, dict[str, Any]]:
    """Read a folder by `save_model_folder`: model in evaluation mode, tokenizer (or None), config.json.

    build: makes the model from its configuration and the content of config.json.
    more: fields that config.json must have besides "kind" and "model".
    Raises FileNotFoundError if a file is missing; ValueError for another kind, or if files do not match.
    """
    folder = Path(folder)
    about = read_about(folder / CONFIG, kind, more)
    config = config_from(folder / CONFIG, config_type, about["model"])
    check_sizes(about["model"], folder / WEIGHTS)
    tokens = read_tokenizer(folder, config, about["tokenizer"]) if "tokenizer" in about else None
    try:
        model = build(config, about)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"{folder / CONFIG} describes no {kind}: {error}") from error
    load_model(model, folder / WEIGHTS)
    return model.to(device).eval(), tokens, about


def read_about(path: Path, kind: str, more: Collection[str]) -> dict[str, Any]:
    """The content of config.json. Raises ValueError for another kind and for missing or unknown fields."""
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    found = about.get("kind") if isinstance(about, dict) else None
    if found != kind:
        what = f"describes a model of kind {found!r}" if found else "names no kind of model"
        raise ValueError(f"{path} {what}, and the kind wanted is {kind!r}")
    check_fields(path, about, {"kind", "model", *more})
    return about


def config_from(path: Path, config_type: type, values: Any) -> Any:
    """The configuration with these values. Raises ValueError for unknown, missing and mistyped ones."""
    if not isinstance(values, dict):
        raise ValueError(f"{path}: model={values!r} is not a set of fields")
    known = {field.name: field for field in fields(config_type)}
    needed = {name for name, f in known.items() if f.default is MISSING and f.default_factory is MISSING}
    check_fields(path, values, needed, known.keys())
    for name, value in values.items():
        kind = get_type_hints(config_type)[name]
        if not isinstance(value, int | float if kind is float else kind):
            raise ValueError(f"{path}: {name}={value!r} is not of type {getattr(kind, '__name__', kind)}")
    try:
        return config_type(**values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def check_fields(path: Path, values: dict[str, Any], needed: set[str], other: Collection[str] = ()) -> None:
    """Raise ValueError if a needed field is missing, or if a field is neither needed nor in `other`."""
    unknown = values.keys() - needed - set(other)
    for what, names in (("lacks", needed - values.keys()), ("has unknown", unknown)):
        if names:
            raise ValueError(f"{path} {what} fields: {', '.join(sorted(names))}")


def read_tokenizer(folder: Path, config: Any, fingerprint: str) -> Vocabulary:
    """The model's tokenizer. Raises ValueError if it belongs to another model."""
    tokenizer = load_tokenizer(folder / TOKENIZER)
    if len(tokenizer) != config.vocab:
        raise ValueError(
            f"{folder}: the vocabulary has {len(tokenizer)} tokens, the model has vocab={config.vocab}"
        )
    if fingerprint != tokenizer.fingerprint:
        raise ValueError(
            f"{folder}: {TOKENIZER} is the vocabulary of another model: its tokens are not in this order"
        )
    return tokenizer


def check_sizes(config: Mapping[str, Any], weights: Path) -> None:
    """Raise ValueError for an integer in `config` that is too large for the weights file.

    A model with a billion layers would fill the memory before its weights are compared with the file. The
    check is coarse: each layer has at least one tensor, and each unit of any other size at least one byte.
    """
    size = weights.stat().st_size
    try:
        with safe_open(weights, "pt") as file:
            tensors = len(file.keys()) + len(file.metadata() or {})  # tied weights are written once
    except SafetensorError as error:
        raise ValueError(f"{weights} is not a whole safetensors file: {error}") from error
    for name, value in config.items():
        most, what = (tensors, "tensors") if name.endswith("layers") else (size, "bytes")
        if type(value) is int and value > most:
            raise ValueError(f"{name}={value}, but {weights} has only {most:,} {what}")
