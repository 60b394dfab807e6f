"""What the conversions of all published models share: settings, names of weights, and joined projections."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Model = TypeVar("Model", bound=nn.Module)
NAMES = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
POOLER = "pooler."  # BERT's layer after the first hidden state


def check_form(whose: str, config: object, **form: object) -> None:
    """Raise ValueError unless these fields of a configuration have the values that the other model has."""
    for field, value in form.items():
        if (found := getattr(config, field)) != value:
            raise ValueError(f"{field}={found!r}, but {whose} has {field}={value!r}")


def our_settings(kind: str, theirs: object) -> dict[str, Any]:
    """The settings that have other names in their configuration, by our names."""
    return {our: getattr(theirs, their) for their, our in NAMES[kind]["settings"].items()}


def their_settings(kind: str, ours: object) -> dict[str, Any]:
    """The same settings by their names."""
    return {their: getattr(ours, our) for their, our in NAMES[kind]["settings"].items()}


def d_ff(config: Any) -> int:
    """The width of the feed-forward networks, which our configurations may leave out."""
    return config.d_ff or 4 * config.d_model


def load_into_ours(kind: str, make: type[Model], config: Any, theirs: nn.Module) -> Model:
    """Our model with copies of their weights."""
    with torch.device("meta"):  # initial weights are not needed
        ours = make(config)
    weights = our_weights(kind, theirs.state_dict(), ours.state_dict(), make.__name__)
    ours.load_state_dict(weights, assign=True)
    return ours.train(theirs.training)


def load_into_theirs(kind: str, ours: nn.Module, theirs: Any) -> Any:
    """Their model with our weights; ours has nothing to put into a pooler, which stays as it is."""
    theirs.to(next(ours.parameters()))  # before loading, to keep the precision of fp64
    places = theirs.state_dict()
    theirs.load_state_dict(places | their_weights(kind, ours.state_dict(), places))
    return theirs.train(ours.training)


def our_name(kind: str, theirs: str) -> str:
    """Our name for one of their weights; w_qkv, w_k and w_v where they split the projections differently."""
    for their_part, our_part in NAMES[kind]["weights"].items():
        theirs = theirs.replace(their_part, our_part)
    return theirs


def turned(kind: str, name: str, t: Tensor) -> Tensor:
    """A matrix of a block as the other library stores it: that of GPT-2 is transposed."""
    return t.mT if kind == "gpt2" and name.startswith("blocks.") and t.ndim == 2 else t


def our_weights(
    kind: str, theirs: Mapping[str, Tensor], places: Mapping[str, Tensor], whose: str
) -> dict[str, Tensor]:
    """Convert their state dict, without a pooler, to ours: rename, split, join and reshape.

    places: tensors with our names and shapes. whose: what an error calls our model.
    Raises ValueError for missing, unknown and mismatched weights.
    """
    named = ((our_name(kind, name), t) for name, t in theirs.items() if not name.startswith(POOLER))
    ours = {name: turned(kind, name, t) for name, t in named}
    for name in [name for name in ours if ".w_qkv." in name]:
        ours[name.replace("w_qkv", "w_q")], *rest = ours.pop(name).chunk(3)
        ours[name.replace("w_qkv", "w_kv")] = torch.cat(rest)
    for name in [name for name in ours if ".w_k." in name]:
        keys, values = ours.pop(name), ours.pop(name.replace("w_k", "w_v"))
        ours[name.replace("w_k", "w_kv")] = torch.cat([keys, values])
    if strange := sorted(ours.keys() ^ places.keys()):
        raise ValueError(f"another form than that of {whose}: {strange} are weights of only one of the two")
    for name, t in ours.items():
        if t.numel() != places[name].numel():
            raise ValueError(f"{name} of {tuple(t.shape)}, but {whose} has {tuple(places[name].shape)}")
    return {name: t.reshape(places[name].shape).clone() for name, t in ours.items()}


def their_weights(kind: str, ours: Mapping[str, Tensor], places: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Convert our state dict to theirs. places: tensors with their names and shapes."""
    ours = dict(ours)
    for name in [name for name in ours if ".w_kv." in name]:
        keys, values = ours[name].chunk(2)
        ours[name.replace("w_kv", "w_k")], ours[name.replace("w_kv", "w_v")] = keys, values
        ours[name.replace("w_kv", "w_qkv")] = torch.cat([ours[name.replace("w_kv", "w_q")], keys, values])
    named = {name: our_name(kind, name) for name in places if not name.startswith(POOLER)}
    return {name: turned(kind, our, ours[our]).reshape(places[name].shape) for name, our in named.items()}
