"""A trace packed for the browser (a JSON header and one buffer of numbers), and sampling probabilities."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.generation.sampling import next_token_probabilities
from course_lib.models.gpt import GPT
from course_lib.models.seq2seq import Seq2Seq
from course_lib.text.tokenizers import Vocabulary
from course_lib.widgets.model_trace import AttentionTrace, BlockTrace, Trace
from course_lib.widgets.token_words import on_bytes, shown

TOP = 128  # logits sent per step; all others only as a sum, for each temperature
SHOWN = 10  # candidates for the next token that the page shows
TEMPERATURES = tuple(i / 10 for i in range(21))  # those of the slider


class Numbers:
    """Buffer of arrays, each aligned to four bytes; equal arrays are stored once."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.places: dict[bytes, int] = {}
        self.size = 0

    def add(self, array: Float[Tensor, "..."], kind: str = "f2") -> dict[str, Any]:
        """Append an array, in half ("f2") or single precision ("f4"); returns its entry for the header."""
        values = array.detach().cpu().numpy().astype(f"<{kind}")
        return self.add_bytes(values.tobytes(), shape=list(values.shape), kind=kind)

    def add_bytes(self, data: bytes, **about: Any) -> dict[str, Any]:
        """Append bytes, and return where they begin and what the header says about them besides."""
        if data not in self.places:
            self.places[data] = self.size
            self.parts.append(data + bytes(-len(data) % 4))
            self.size += len(self.parts[-1])
        return {"at": self.places[data], **about}


def pack(
    trace: Trace, model: Seq2Seq | GPT, tokenizer: Vocabulary, most: int | None = None
) -> tuple[dict[str, Any], bytes]:
    """The trace as a header for JSON, and the bytes of its arrays (little-endian, mostly half precision).

    most: bytes; above it, the blocks come without what only an opened block shows (see `pack_block`).
    """
    header, numbers = packed(trace, model, tokenizer, whole=True)
    fits = most is None or len(numbers) <= most
    return (header, numbers) if fits else packed(trace, model, tokenizer, whole=False)


def pack_block(block: BlockTrace) -> tuple[dict[str, Any], bytes]:
    """Everything about one block, as a header and the bytes of its arrays."""
    numbers = Numbers()
    return packed_block(block, numbers, whole=True), b"".join(numbers.parts)


def packed(
    trace: Trace, model: Seq2Seq | GPT, tokenizer: Vocabulary, whole: bool
) -> tuple[dict[str, Any], bytes]:
    """Header and bytes. whole: with everything that an opened block shows."""
    numbers = Numbers()
    translator = isinstance(model, Seq2Seq)
    stacks = {
        "encoder": model.encoder if translator else (),
        "decoder": model.decoder if translator else model.blocks,
    }
    ids, logits, tails = top_logits(trace.logits)
    header = {
        **{name: getattr(trace, name) for name in PLAIN},
        "sizes": sizes(model, tokenizer),
        **{
            name: [
                {**packed_block(block, numbers, whole), "parameters": parameters(module)}
                for block, module in zip(getattr(trace, name), modules, strict=True)
            ]
            for name, modules in stacks.items()
        },
        "candidates": [
            [{"id": i, "token": shown(tokenizer, i)} for i in row[:SHOWN]] for row in ids.tolist()
        ],
        "logits": numbers.add(logits, "f4"),
        "tails": numbers.add(tails, "f4"),
        "temperatures": TEMPERATURES,
    }  # fmt: skip
    return header, b"".join(numbers.parts)


def sizes(model: Seq2Seq | GPT, tokenizer: Vocabulary) -> dict[str, Any]:
    """Of a model, and which options it has, as far as the page tells."""
    c = model.config
    blocks = model.decoder if isinstance(model, Seq2Seq) else model.blocks
    return {
        "d_model": c.d_model, "heads": c.heads, "d_head": c.d_model // c.heads, "vocab": c.vocab,
        "d_ff": blocks[0].feed_forward.w_in.out_features,
        "parameters": parameters(model), "positions": c.positions, "qk_norm": c.qk_norm,
        "norm": c.norm, "on_bytes": on_bytes(tokenizer),
    }  # fmt: skip


PLAIN = (
    "mode", "source", "target", "chosen", "source_ids", "target_ids", "chosen_ids", "prompt", "text",
)  # fmt: skip


def packed_block(block: BlockTrace, numbers: Numbers, whole: bool) -> dict[str, Any]:
    """The header of one block; its arrays are added to `numbers`.

    Not whole: the attention weights, and the residual stream before and after the block.
    """
    stream = block.residual if whole else (block.residual[0], block.residual[-1])
    return {
        "name": block.name,
        "attentions": [packed_attention(attention, numbers, whole) for attention in block.attentions],
        "residual": [numbers.add(x) for x in stream],
        "hidden": numbers.add(block.hidden) if whole else None,
    }


def packed_attention(attention: AttentionTrace, numbers: Numbers, whole: bool) -> dict[str, Any]:
    """The header of one attention layer; the browser computes the heads' outputs from weights and values."""
    names = ("q", "k", "v", "weights") if whole else ("weights",)
    arrays = {name: numbers.add(getattr(attention, name)) for name in names}
    return {"name": attention.name, "causal": attention.causal, **arrays}


def parameters(module: nn.Module) -> int:
    """Number of parameters."""
    return sum(p.numel() for p in module.parameters())


def top_logits(
    logits: Float[Tensor, "steps vocab"],
) -> tuple[Int[Tensor, "steps top"], Float[Tensor, "steps top"], Float[Tensor, "steps temperatures"]]:
    """The ids and values of the largest logits, largest first, and the weight of all others.

    Logits are relative to the largest. The weight of the others is Σ exp(logit / temperature), at each of
    TEMPERATURES; 0 for temperature 0.
    """
    values, ids = (logits - logits.amax(-1, keepdim=True)).double().sort(stable=True, dim=-1, descending=True)
    others = values[:, TOP:]
    tails = [(others / t).exp().sum(-1) if t else torch.zeros(len(others)) for t in TEMPERATURES]
    return ids[:, :TOP], values[:, :TOP].float(), torch.stack(tails, -1).float()


def shown_probabilities(
    logits: Float[Tensor, " vocab"], temperature: float, top_k: int, top_p: float
) -> Mapping[str, Any]:
    """Sampling probabilities of the candidates, and how many tokens can be sampled; top_k=0 keeps all."""
    ids = logits.sort(stable=True, descending=True).indices[:SHOWN]
    p = next_token_probabilities(logits, temperature, top_k or None, top_p if top_p < 1 else None)
    return {"probabilities": p[ids].tolist(), "kept": int(np.count_nonzero(p))}
