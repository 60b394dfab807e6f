"""GPT-2: its four published sizes, later changes, and weight conversion from and to `transformers`."""

from typing import Any

from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.conversion import Conversion, check_form
from course_lib.pretrained.torchvision_ops import transformers


def gpt2(layers: int, heads: int, d_model: int) -> GPTConfig:
    return GPTConfig(vocab=50257, d_model=d_model, heads=heads, layers=layers, max_tokens=1024, dropout=0.1)


GPT2_SIZES = {  # Radford et al. 2019, table 2
    "gpt2": gpt2(12, 12, 768),
    "gpt2-medium": gpt2(24, 16, 1024),
    "gpt2-large": gpt2(36, 20, 1280),
    "gpt2-xl": gpt2(48, 25, 1600),
}
SINCE_GPT2 = {  # options of GPTConfig that small language models have adopted since
    "positions": "rotary",  # Su et al. 2021
    "qk_norm": True,  # Henry et al. 2020
    "activation": "squared relu",  # So et al. 2021
    "zero_outputs": True,  # Jordan et al. 2024, after Zhang et al. 2019
}
BOTH = Conversion("gpt2")
FORM = {  # of a GPT2Config: what `GPT` has no option for
    "activation_function": "gelu_new",
    "add_cross_attention": False,
    "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True,
    "tie_word_embeddings": True,
}


def load_gpt2(name: str = "gpt2") -> GPT:
    """Load the published model with this name, or one in a folder by `save_pretrained`, in evaluation mode.

    `transformers` downloads it if it is not in the cache. Raises OSError if the model cannot be found or
    downloaded; other errors: as in `from_hugging_face`.

    >>> from tempfile import TemporaryDirectory
    >>> from course_lib.models import GPT, GPTConfig
    >>> from course_lib.pretrained.gpt2 import to_hugging_face
    >>> with TemporaryDirectory() as folder:  # without a download; usually: load_gpt2("gpt2")
    ...     to_hugging_face(GPT(GPTConfig(vocab=100, layers=3))).save_pretrained(folder)
    ...     load_gpt2(folder).config.layers
    3
    """
    return from_hugging_face(transformers().GPT2LMHeadModel.from_pretrained(name))


def from_hugging_face(model: Any) -> GPT:
    """Convert a `GPT2LMHeadModel` to a `GPT` with the same logits.

    Without its dropout of attention weights. Raises ValueError for options that `GPT` does not have.
    """
    check_form("GPT-2", model.config, **FORM)
    config = GPTConfig(d_ff=model.config.n_inner or 0, **BOTH.our_settings(model.config))
    gpt = BOTH.load_into_ours(GPT, config, model)
    gpt.padding = None  # id 0 is "!"
    return gpt


def to_hugging_face(gpt: GPT) -> Any:
    """Convert a `GPT` to a `GPT2LMHeadModel` with the same logits.

    Raises ValueError for options that GPT-2 does not have.
    """
    config, usual = gpt.config, GPTConfig(vocab=gpt.config.vocab)
    fields = ("positions", "activation", "qk_norm", "kv_heads", "norm")
    check_form("GPT-2", config, **{field: getattr(usual, field) for field in fields})
    dropout = {"embd_pdrop": config.dropout, "attn_pdrop": 0.0}
    ends = {"bos_token_id": None, "eos_token_id": None}
    library, settings = transformers(), BOTH.their_settings(config)
    theirs = library.GPT2Config(n_inner=config.d_ff or None, **settings, **dropout, **ends)
    return BOTH.load_into_theirs(gpt, library.GPT2LMHeadModel(theirs))
