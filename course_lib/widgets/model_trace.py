"""Trace of a Transformer: everything that a translator or a GPT computes on its way to each next token.

The models' own layers compute all of it; `pack` makes it small enough to send to a browser.
"""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.generation.decoding import greedy_decode
from course_lib.layers.blocks import DecoderBlock, EncoderBlock
from course_lib.layers.masks import Mask, causal_mask
from course_lib.layers.multi_head_attention import MultiHeadAttention, attention
from course_lib.models.gpt import GPT
from course_lib.models.seq2seq import Seq2Seq
from course_lib.tasks.translation import with_end
from course_lib.text.tokenizers import BOS, EOS, UNK, Vocabulary
from course_lib.training.evaluation import evaluating
from course_lib.widgets.reading import encode
from course_lib.widgets.token_words import end_of, shown

MAX_SOURCE = 40  # tokens: more would not be readable as a picture
MAX_TARGET = 26
MAX_NEW = 12  # tokens that a GPT adds to its prompt
Model = TypeVar("Model", Seq2Seq, GPT)
Stack = Float[Tensor, "tokens d_model"]


@dataclass(frozen=True)
class AttentionTrace:
    """What one attention layer computes on one sequence.

    q, k: after QK-norm and rotary positions, where the layer has them. heads: each head's weighted sum of
    values. causal: whether a query sees only its own position and earlier ones.
    """

    name: str
    q: Float[Tensor, "heads queries d_head"]
    k: Float[Tensor, "heads keys d_head"]
    v: Float[Tensor, "heads keys d_head"]
    weights: Float[Tensor, "heads queries keys"]
    heads: Float[Tensor, "heads queries d_head"]
    causal: bool


@dataclass(frozen=True)
class BlockTrace:
    """What one block computes on one sequence.

    residual: the residual stream before the first sublayer and after each sublayer.
    hidden: the activations inside the feed-forward network.
    """

    name: str
    attentions: tuple[AttentionTrace, ...]
    residual: tuple[Stack, ...]
    hidden: Float[Tensor, "tokens d_ff"]


@dataclass(frozen=True)
class Trace:
    """What a whole model computes on one sentence.

    source: the encoder's tokens; empty for a GPT. target: the tokens read by the decoder or GPT.
    chosen: the token written at each step; step t reads the first `prompt` + t tokens of `target`.
    text: what was written, as text. logits: for the next token, at each step.
    """

    mode: str
    source: list[str]
    target: list[str]
    chosen: list[str]
    source_ids: list[int]
    target_ids: list[int]
    chosen_ids: list[int]
    prompt: int
    text: str
    encoder: tuple[BlockTrace, ...]
    decoder: tuple[BlockTrace, ...]
    logits: Float[Tensor, "steps vocab"]


@torch.inference_mode()
def trace_translation(
    model: Seq2Seq, tokenizer: Vocabulary, sentence: str, prefix: Sequence[int] = ()
) -> Trace:
    """Trace a greedy translation, from the source tokens to each target token.

    prefix: ids that the translation has to begin with.
    Raises ValueError for an empty sentence, and for one of more than MAX_SOURCE tokens.
    """
    model, room = on_cpu(model), model.config.max_tokens
    [source] = with_end([sentence], tokenizer, room)
    if len(source) > MAX_SOURCE:
        raise ValueError(f"{len(source)} tokens: the explorer shows at most {MAX_SOURCE}. Use fewer words.")
    ids = torch.tensor([source])
    with evaluating(model):
        most = min(MAX_TARGET, 2 * len(source) + 10, room)
        chosen = continued(model.generator(ids), [BOS], prefix, most, EOS)
        target = [BOS, *chosen[:-1]]
        with recorded(model.encoder) as encoder, recorded(model.decoder) as decoder:
            memory = model.encode(ids)
            logits = model.output_logits(model.decode(torch.tensor([target]), memory))[0]
        blocks = block_traces("Encoder block", encoder), block_traces("Decoder block", decoder)
    return traced("translator", tokenizer, source, target, chosen, 1, EOS, blocks, logits)


@torch.inference_mode()
def trace_gpt(model: GPT, tokenizer: Vocabulary, prompt: str, prefix: Sequence[int] = ()) -> Trace:
    """Trace a GPT that continues a prompt greedily.

    prefix: ids that the continuation has to begin with.
    Raises ValueError for an empty prompt, for unknown tokens, and for more than MAX_SOURCE tokens.
    """
    model, room = on_cpu(model), model.config.max_tokens
    end = end_of(model, tokenizer)
    start = encode(tokenizer, prompt, min(MAX_SOURCE, room - 1), unknown_id=UNK if end == EOS else None)
    with evaluating(model):
        chosen = continued(model.generator(), start, prefix, min(MAX_NEW, room - len(start)), end)
        target = [*start, *chosen[:-1]]
        with recorded(model.blocks) as blocks:
            logits = model(torch.tensor([target]))[0, len(start) - 1 :]
        stacks = (), block_traces("Block", blocks)
    return traced("gpt", tokenizer, [], target, chosen, len(start), end, stacks, logits)


def traced(
    mode: str,
    tokenizer: Vocabulary,
    source: list[int],
    target: list[int],
    chosen: list[int],
    prompt: int,
    end: int | None,
    stacks: tuple[tuple[BlockTrace, ...], tuple[BlockTrace, ...]],
    logits: Tensor,
) -> Trace:
    """The trace of these ids, with the words of their tokens."""

    def words(ids: list[int]) -> list[str]:
        return [shown(tokenizer, i) for i in ids]

    return Trace(
        mode=mode,
        source=words(source),
        target=words(target),
        chosen=words(chosen),
        source_ids=source,
        target_ids=target,
        chosen_ids=chosen,
        prompt=prompt,
        text=tokenizer.decode([i for i in chosen if i != end]),
        encoder=stacks[0],
        decoder=stacks[1],
        logits=logits,
    )


def on_cpu(model: Model) -> Model:
    """The model, or a copy on the CPU in fp32: what a widget shows is small, and is needed there."""
    first = next(model.parameters())
    here = first.device.type == "cpu" and first.dtype == torch.float32
    return model if here else copy.deepcopy(model).cpu().float()


def continued(
    generator: Any, start: Sequence[int], prefix: Sequence[int], most: int, end: int | None
) -> list[int]:
    """The ids written after `start`: `prefix`, then greedily to `end`, or to `most` ids in all."""
    written = list(prefix)[:most]
    if end in written:
        return written[: written.index(end) + 1]
    if len(written) < most:
        ids = torch.tensor([[*start, *written]])
        written += greedy_decode(generator, ids, end, most - len(written))[0]
    return written if len(written) == most or end is None else [*written, end]


@dataclass
class Record:
    """One block with the input of each of its sublayers, and the output of each attention layer."""

    block: EncoderBlock | DecoderBlock
    inputs: dict[str, tuple[Any, ...]]
    outputs: dict[str, Tensor]


@contextmanager
def recorded(blocks: nn.ModuleList) -> Iterator[list[Record]]:
    """Context manager that records the inputs and outputs of these blocks and their sublayers."""
    records: list[Record] = []
    hooks = []
    for block in blocks:
        records.append(record := Record(block, {}, {}))
        for name, module in [("", block), *block.named_children()]:

            def keep(module, inputs, output, record=record, name=name):
                record.inputs[name], record.outputs[name] = inputs, output

            hooks.append(module.register_forward_hook(keep))
    try:
        yield records
    finally:
        for hook in hooks:
            hook.remove()


def block_traces(name: str, records: Sequence[Record]) -> tuple[BlockTrace, ...]:
    """Traces of the blocks, which are numbered from 1."""
    return tuple(block_trace(f"{name} {i}", record) for i, record in enumerate(records, 1))


def block_trace(name: str, record: Record) -> BlockTrace:
    """Trace of a block, computed by its own layers from their recorded inputs."""
    block, decoder = record.block, isinstance(record.block, DecoderBlock)
    layers = ["attention", *(["cross_attention"] if decoder else []), "feed_forward"]
    stream = [record.inputs[""][0]]
    for i, layer in enumerate(layers, start=1):
        total = stream[-1] + record.outputs[layer]
        stream.append(total if block.pre_norm else block.get_submodule(f"norm_{i}")(total))
    masks = record.inputs[""][1 + decoder :]  # of self-attention and, in a decoder block, cross-attention
    attentions = [
        attention_trace(ATTENTIONS[layer], getattr(block, layer), *record.inputs[layer][:2], mask=mask)
        for layer, mask in zip(layers[:-1], masks, strict=False)
    ]
    inside = block.feed_forward
    return BlockTrace(
        name=name,
        attentions=tuple(attentions),
        residual=tuple(x[0] for x in stream),
        hidden=inside.activation(inside.w_in(record.inputs["feed_forward"][0]))[0],
    )


ATTENTIONS = {"attention": "Self-attention", "cross_attention": "Cross-attention"}


def attention_trace(
    name: str, layer: MultiHeadAttention, x: Tensor, context: Tensor | None = None, *, mask: Mask | None
) -> AttentionTrace:
    """Queries, keys, values, weights and outputs of all heads. x, context, mask: arguments of the layer."""
    q = layer.positioned(layer.split(layer.w_q(x)), 0)
    k, v = layer.split(layer.w_kv(x if context is None else context)).chunk(2, dim=1)
    k = layer.positioned(k, 0)
    k, v = (part.repeat_interleave(layer.heads // layer.kv_heads, dim=1) for part in (k, v))
    heads, weights = attention(q, k, v, mask)
    return AttentionTrace(name, q[0], k[0], v[0], weights[0], heads[0], causal=is_causal(mask, q.shape[-2]))


def is_causal(mask: Mask | None, tokens: int) -> bool:
    """Whether the mask is the causal one; a padding mask of a sentence without padding hides nothing."""
    return mask is not None and mask.shape[-2] == tokens > 1 and torch.equal(mask, causal_mask(tokens))
