"""Import torchvision even if its compiled operators do not match the installed torch.

A CPU build of torch cannot load the operators of a CUDA build of torchvision. Then even `import torchvision`
fails, and with it d2l, timm, and the image models of transformers. The course uses none of these operators,
so declaring their names is enough.
"""

import sys
from importlib import import_module
from types import ModuleType

import torch

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[torch.library.Library] = []  # a declaration lasts as long as its Library object


def import_torchvision() -> ModuleType:
    """Import torchvision; if its operators cannot be loaded, declare their names first.

    Declared operators cannot be called. Use this before importing d2l, timm or a model class of transformers.
    Raises ImportError if torchvision is not installed.
    """
    try:
        import torchvision
    except RuntimeError as error:
        if _declared or "torchvision::nms" not in str(error):
            raise
        _forget("torchvision")
        library = torch.library.Library("torchvision", "DEF")
        for schema in _SCHEMAS:
            library.define(schema)
        _declared.append(library)
        import torchvision
    return torchvision


def library(name: str) -> ModuleType:
    """Import a library that needs torchvision, such as timm. Raises ImportError if it is not installed."""
    import_torchvision()
    return import_module(name)


def transformers() -> ModuleType:
    """Import Hugging Face's `transformers`."""
    return library("transformers")


def _forget(package: str) -> None:
    """Remove the modules that a failed import left behind."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
