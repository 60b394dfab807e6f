"""States of PyTorch's random generators, of one process or of all processes of a run."""

import torch
from accelerate import PartialState
from accelerate.utils import gather_object
from torch import Tensor


def random_states(device: torch.device) -> list[Tensor]:
    """States of the random generators: of the CPU, and of `device` if it is a GPU."""
    if device.type == "cpu":
        return [torch.get_rng_state()]
    return [torch.get_rng_state(), torch.get_device_module(device).get_rng_state(*number(device))]


def set_random_states(states: list[Tensor], device: torch.device) -> None:
    """Restore `random_states`; the state of a GPU is ignored on a CPU."""
    torch.set_rng_state(states[0])
    if device.type != "cpu" and len(states) > 1:
        torch.get_device_module(device).set_rng_state(states[1], *number(device))


def number(device: torch.device) -> list[torch.device]:
    """The device as an argument, unless there is only one of its kind: Apple's."""
    return [] if device.type == "mps" else [device]


def gather_random_states(device: torch.device) -> list[list[Tensor]]:
    """The `random_states` of every process; all processes must call it."""
    return gather_object([random_states(device)])


def scatter_random_states(states: list[list[Tensor]], device: torch.device) -> None:
    """Restore this process's part of `gather_random_states`; a new process keeps its own."""
    process = PartialState().process_index
    own = states[process] if process < max(1, len(states)) else random_states(device)
    for one in [*states, own]:  # all, so that all processes agree on whether one is invalid
        set_random_states(one, device)
