"""What the conversions of all published models share: settings, names of weights, and joined projections."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Model = TypeVar("Model", bound=nn.Module)
Weights = Mapping[str, Tensor]
NAMES = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
POOLER = "pooler."  # BERT's layer after the first hidden state


def check_form(whose: str, config: object, **form: object) -> None:
    """Raise ValueError unless these fields of a configuration have the values that the other model has."""
    for field, value in form.items():
        if (found := getattr(config, field)) != value:
            raise ValueError(f"{field}={found!r}, but {whose} has {field}={value!r}")


def d_ff(config: Any) -> int:
    """The width of the feed-forward networks, which our configurations may leave out."""
    return config.d_ff or 4 * config.d_model


class Conversion:
    """Settings and weights of one kind of model by their names and by ours; the names are in names.toml."""

    def __init__(self, kind: str):
        self.settings, self.names = NAMES[kind]["settings"], NAMES[kind]["weights"]
        self.transposed = kind == "gpt2"  # whether they store the matrices of a block transposed

    def our_settings(self, theirs: object) -> dict[str, Any]:
        """The settings in their configuration, by our names."""
        return {our: getattr(theirs, their) for their, our in self.settings.items()}

    def their_settings(self, ours: object) -> dict[str, Any]:
        """The settings in our configuration, by their names."""
        return {their: getattr(ours, our) for their, our in self.settings.items()}

    def load_into_ours(self, make: type[Model], config: Any, theirs: nn.Module) -> Model:
        """Our model with copies of their weights."""
        with torch.device("meta"):  # initial weights are not needed
            ours = make(config)
        weights = self.our_weights(theirs.state_dict(), ours.state_dict(), make.__name__)
        ours.load_state_dict(weights, assign=True)
        return ours.train(theirs.training)

    def load_into_theirs(self, ours: nn.Module, theirs: Any) -> Any:
        """Their model with our weights; ours has nothing to put into a pooler, which stays as it is."""
        theirs.to(next(ours.parameters()))  # before loading, to keep the precision of fp64
        places = theirs.state_dict()
        theirs.load_state_dict(places | self.their_weights(ours.state_dict(), places))
        return theirs.train(ours.training)

    def our_weights(self, theirs: Weights, places: Weights, whose: str) -> dict[str, Tensor]:
        """Convert their state dict, without a pooler, to ours: rename, split, join and reshape.

        places: tensors with our names and shapes. whose: what an error calls our model.
        Raises ValueError for missing, unknown and mismatched weights.
        """
        named = ((self._our_name(name), t) for name, t in theirs.items() if not name.startswith(POOLER))
        ours = {name: self._turned(name, t) for name, t in named}
        for name in [name for name in ours if ".w_qkv." in name]:
            ours[name.replace("w_qkv", "w_q")], *rest = ours.pop(name).chunk(3)
            ours[name.replace("w_qkv", "w_kv")] = torch.cat(rest)
        for name in [name for name in ours if ".w_k." in name]:
            keys, values = ours.pop(name), ours.pop(name.replace("w_k", "w_v"))
            ours[name.replace("w_k", "w_kv")] = torch.cat([keys, values])
        if strange := sorted(ours.keys() ^ places.keys()):
            raise ValueError(
                f"another form than that of {whose}: {strange} are weights of only one of the two"
            )
        for name, t in ours.items():
            if t.numel() != places[name].numel():
                raise ValueError(f"{name} of {tuple(t.shape)}, but {whose} has {tuple(places[name].shape)}")
        return {
            name: t.reshape(places[name].shape).clone(memory_format=torch.contiguous_format)
            for name, t in ours.items()
        }

    def their_weights(self, ours: Weights, places: Weights) -> dict[str, Tensor]:
        """Convert our state dict to theirs. places: tensors with their names and shapes."""
        ours = dict(ours)
        for name in [name for name in ours if ".w_kv." in name]:
            keys, values = ours[name].chunk(2)
            ours[name.replace("w_kv", "w_k")], ours[name.replace("w_kv", "w_v")] = keys, values
            joined = [ours[name.replace("w_kv", "w_q")], keys, values]
            ours[name.replace("w_kv", "w_qkv")] = torch.cat(joined)
        named = {name: self._our_name(name) for name in places if not name.startswith(POOLER)}
        return {name: self._turned(our, ours[our]).reshape(places[name].shape) for name, our in named.items()}

    def _our_name(self, theirs: str) -> str:
        """Our name for one of their weights; w_qkv, w_k and w_v where they split projections differently."""
        for their_part, our_part in self.names.items():
            theirs = theirs.replace(their_part, our_part)
        return theirs

    def _turned(self, name: str, t: Tensor) -> Tensor:
        """A weight with our name as the other library stores it."""
        return t.mT if self.transposed and name.startswith("blocks.") and t.ndim == 2 else t
