"""Importing torchvision beside a torch that its compiled operators do not fit.

A torch built for the CPU alone cannot load the operators of a torchvision that was built for CUDA. Then even
`import torchvision` fails, and with it d2l, timm and the image models of transformers. The course needs none
of these operators; it is enough that their names are known.
"""

import sys
from importlib import import_module
from types import ModuleType

import torch

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[torch.library.Library] = []  # a declaration ends with its Library object


def import_torchvision() -> ModuleType:
    """torchvision; where its own operators cannot be loaded, their names are declared first.

    Declared operators can be named but not called. Call this before importing d2l, timm or a model class of
    transformers. Raises ImportError where torchvision is not installed.
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
    """A library that imports torchvision, such as timm or transformers. Raises ImportError without it."""
    import_torchvision()
    return import_module(name)


def transformers() -> ModuleType:
    """The library of Hugging Face, imported in this way."""
    return library("transformers")


def _forget(package: str) -> None:
    """Remove what a failed import has left behind, so that the next one starts anew."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
