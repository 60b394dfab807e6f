"""GPT-2: its four published sizes, later changes, and weight conversion from and to `transformers`."""

from typing import Any

import torch
from torch import Tensor

from course_lib.models.gpt import GPT, GPTConfig
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
RENAMED = (  # theirs, ours
    ("transformer.wte.", "embedding."),
    ("transformer.wpe.weight", "positions.table"),
    ("transformer.h.", "blocks."),
    (".ln_1.", ".norm_1."),
    (".attn.c_attn.", ".attention.w_qkv."),
    (".attn.c_proj.", ".attention.w_o."),
    (".ln_2.", ".norm_2."),
    (".mlp.c_fc.", ".feed_forward.w_in."),
    (".mlp.c_proj.", ".feed_forward.w_out."),
    ("transformer.ln_f.", "norm."),
)
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
    theirs = model.config
    for field, value in FORM.items():
        if getattr(theirs, field) != value:
            raise ValueError(f"{field}={getattr(theirs, field)!r}, but GPT-2 has {field}={value!r}")
    sizes = {"d_model": theirs.n_embd, "heads": theirs.n_head, "layers": theirs.n_layer}
    sizes |= {"max_tokens": theirs.n_positions, "d_ff": theirs.n_inner or 0}
    form = {"dropout": theirs.resid_pdrop, "epsilon": theirs.layer_norm_epsilon}
    with torch.device("meta"):  # initial weights are not needed
        gpt = GPT(GPTConfig(vocab=theirs.vocab_size, **sizes, **form))
    gpt.load_state_dict(convert_from_hf(model.state_dict(), theirs.n_embd), assign=True)
    gpt.padding = None  # id 0 is "!"
    return gpt.train(model.training)


def to_hugging_face(gpt: GPT) -> Any:
    """Convert a `GPT` to a `GPT2LMHeadModel` with the same logits.

    Raises ValueError for options that GPT-2 does not have.
    """
    config, usual = gpt.config, GPTConfig(vocab=gpt.config.vocab)
    for field in ("positions", "activation", "qk_norm", "kv_heads", "norm"):
        if getattr(config, field) != getattr(usual, field):
            raise ValueError(
                f"{field}={getattr(config, field)!r}, but GPT-2 has {field}={getattr(usual, field)!r}"
            )
    sizes = {"n_embd": config.d_model, "n_head": config.heads, "n_layer": config.layers}
    sizes |= {"vocab_size": config.vocab, "n_positions": config.max_tokens}
    norm = {"layer_norm_epsilon": config.epsilon}
    dropout = {"resid_pdrop": config.dropout, "embd_pdrop": config.dropout, "attn_pdrop": 0.0}
    library = transformers()
    width = config.d_ff or None
    theirs = library.GPT2Config(
        **sizes, **norm, **dropout, n_inner=width, bos_token_id=None, eos_token_id=None
    )
    model = library.GPT2LMHeadModel(theirs)
    model.to(gpt.embedding.weight)  # before loading, to keep the precision of fp64
    model.load_state_dict(convert_to_hf(gpt.state_dict()))
    return model.train(gpt.training)


def convert_from_hf(theirs: dict[str, Tensor], d_model: int) -> dict[str, Tensor]:
    """Convert a state dict from `transformers`: rename, transpose, and split w_qkv into w_q and w_kv."""
    ours = {}
    for name, t in theirs.items():
        new = name
        for their_part, our_part in RENAMED:
            new = new.replace(their_part, our_part)
        t = t.t() if new.startswith("blocks.") and t.ndim == 2 else t
        if ".w_qkv." in new:
            ours[new.replace("w_qkv", "w_q")] = t[:d_model].clone()
            ours[new.replace("w_qkv", "w_kv")] = t[d_model:].clone()
        elif name != "lm_head.weight":  # tied to wte
            ours[new] = t.clone()
    return {name: t.contiguous() for name, t in ours.items()}


def convert_to_hf(ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Convert a state dict to `transformers`: the inverse of `convert_from_hf`."""
    theirs = {}
    for name, t in ours.items():
        if ".w_kv." in name:
            continue
        if ".w_q." in name:
            t, name = torch.cat([t, ours[name.replace("w_q", "w_kv")]]), name.replace("w_q", "w_qkv")
        new = name
        for their_part, our_part in RENAMED:
            new = new.replace(our_part, their_part)
        theirs[new] = t.t() if name.startswith("blocks.") and t.ndim == 2 else t
    return theirs | {"lm_head.weight": ours["embedding.weight"]}
