"""Tables of constants in a module: computed, not learned, and therefore in no state dict."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class ComputedTable(nn.Module):
    """Base of the modules with a table of constants, a buffer that is not stored.

    Loading weights cannot restore the table after `to_empty` or on the device "meta", so it is computed$
    again, as torchtitan does in `init_weights`. A cast does not change it: it stays in fp32.
    name: of the buffer. compute: a function without arguments; a `partial`, so that it can be pickled.

    >>> from functools import partial
    >>> with torch.device("meta"):
    ...     module = ComputedTable("table", partial(torch.arange, 3))
    >>> module.table.is_meta, module.bfloat16().to_empty(device="cpu").table
    (True, tensor([0, 1, 2]))
    """

    def __init__(self, name: str, compute: Callable[[], Tensor]):
        super().__init__()
        self.table_name, self.compute = name, compute
        self.set_table(torch.get_default_device())
        self.register_load_state_dict_post_hook(real_table)

    def set_table(self, device: torch.device | str) -> None:
        """Compute the table on the CPU, so that it is the same everywhere, and put it on this device."""
        with torch.device("cpu"):
            table = self.compute()
        self.register_buffer(self.table_name, table.to(device), persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "ComputedTable":
        super()._apply(fn, recurse)
        self.set_table(getattr(self, self.table_name).device)
        return self


def real_table(module: nn.Module, keys: Any) -> None:
    """After `load_state_dict`: the table, on the CPU if it was on the device "meta", which has no numbers."""
    if isinstance(module, ComputedTable):
        device = getattr(module, module.table_name).device
        module.set_table("cpu" if device.type == "meta" else device)
