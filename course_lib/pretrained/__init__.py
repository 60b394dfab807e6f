"""Published models: sizes by name, and weights converted from and to other libraries."""

from course_lib.utils.lazy import lazy_exports

_EXPORTS = {
    "bert": ["load_bert"],
    "gpt2": ["load_gpt2"],
    "vit": ["load_vit"],
    "torchvision_ops": ["import_torchvision"],
}
__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
