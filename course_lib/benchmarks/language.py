"""Language models: training and generation in tokens per second, against nanoGPT and `transformers`."""

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.benchmarks import rivals
from course_lib.benchmarks.timing import Comparison, Plan, Write, measure, trainer, writing
from course_lib.generation.decoding import greedy_decode
from course_lib.layers.blocks import FeedForward
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import SINCE_GPT2, to_hugging_face

OURS, MODERN, NANO, THEIRS, RECOMPUTED = "ours", "ours, modern", "nanoGPT", "transformers", "ours, no cache"
LIKE_NANO = "ours, in nanoGPT's form"
# of nanoGPT's published CPU setting, with 0.80 million parameters; it has no dropout there
SIZES = {"vocab": 65, "d_model": 128, "heads": 4, "layers": 4, "max_tokens": 64}
TINY = {"vocab": 13, "d_model": 16, "heads": 2, "layers": 2, "max_tokens": 12}


def sizes_of(plan: Plan) -> dict[str, int]:
    return TINY if plan.tiny else SIZES


class NanoBlock(nn.Module):
    """Pre-norm block: attention (queries, keys and values in one projection), feed-forward; no biases."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width, bias=False) for _ in range(2))
        self.project = nn.Linear(width, 3 * width, bias=False)
        self.attention_out = nn.Linear(width, width, bias=False)
        self.hidden = nn.Linear(width, 4 * width, bias=False)
        self.hidden_out = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        parts = self.project(self.norms[0](x)).view(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attention_out(seen.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.hidden_out(F.gelu(self.hidden(self.norms[1](x))))


class NanoGPT(nn.Module):
    """nanoGPT's model, rebuilt from its description in plain PyTorch; it uses none of the course's layers.

    It has learned positions, weight tying and a final LayerNorm.
    """

    def __init__(self, vocab: int, d_model: int, heads: int, layers: int, max_tokens: int):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab, d_model), nn.Embedding(max_tokens, d_model)
        self.blocks = nn.ModuleList(NanoBlock(d_model, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(d_model, bias=False)
        for name, p in self.named_parameters():
            if p.ndim == 2:
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * layers) if "_out" in name else 0.02)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.T


def ours(sizes: dict[str, int], **form: object) -> GPT:
    torch.manual_seed(0)
    return GPT(GPTConfig(**sizes, **form))


def in_nanogpt_form(model: GPT) -> GPT:
    """Remove the biases and take the exact GELU, in place: then it computes what nanoGPT computes."""
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.LayerNorm):
            module.register_parameter("bias", None)
        elif isinstance(module, FeedForward):
            module.activation = F.gelu
    return model


class NextToken(nn.Module):
    """Cross-entropy of the next token, as a sum and a count; `read` turns ids into logits."""

    def __init__(self, model: nn.Module, read: Callable[[Tensor], Tensor]):
        super().__init__()
        self.model, self.read = model, read

    def forward(self, windows: Tensor) -> tuple[Tensor, int]:
        logits, targets = self.read(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten()
        return F.cross_entropy(logits, targets, reduction="sum"), targets.numel()


def windows(batch: int, plan: Plan) -> list[tuple[Tensor]]:
    """Sixteen batches of random text."""
    sizes, rng = sizes_of(plan), torch.Generator().manual_seed(0)
    shape = (16, batch, sizes["max_tokens"] + 1)
    return [(some,) for some in torch.randint(sizes["vocab"], shape, generator=rng)]


def training(plan: Plan) -> Iterator[Comparison]:
    """Ours in GPT-2's form, and in two others, against the others: equal sizes, batches and optimizer."""
    sizes = sizes_of(plan)
    for batch in (12, 32):
        models = {OURS: ours(sizes), NANO: NanoGPT(**sizes), THEIRS: to_hugging_face(ours(sizes))}
        models |= {LIKE_NANO: in_nanogpt_form(ours(sizes)), MODERN: ours(sizes, **SINCE_GPT2)}
        for precision in ("fp32", "bf16"):
            case = f"training, batch {batch}, {sizes['max_tokens']} tokens, {precision}"
            comparison = Comparison("gpt", case, "tokens/s", OURS, None, (NANO, THEIRS))
            turns = {}
            for name, model in models.items():
                logits = (lambda ids, m=model: m(ids).logits) if name == THEIRS else model
                text = windows(2 if plan.tiny else batch, plan)
                turns[name] = trainer(NextToken(model, logits), text, plan, precision)
            yield measure(comparison, turns, plan.lasting(0.25))


@torch.inference_mode()
def recompute(model: GPT, start: Tensor, number: int) -> Tensor:
    """Greedy decoding without a cache; only the last hidden state becomes logits."""
    ids = rivals.extended(start, number, lambda ids: model.output_logits(model.hidden_states(ids)[:, -1]))
    return ids[:, start.shape[1] :]


@torch.inference_mode()
def generate(model: nn.Module, start: Tensor, number: int) -> Tensor:
    """Greedy decoding with the KV cache of `transformers`."""
    mask, limit = torch.ones_like(start), {"max_new_tokens": number, "min_new_tokens": number}
    ids = model.generate(start, attention_mask=mask, do_sample=False, use_cache=True, **limit)
    return ids[:, start.shape[1] :]


def writers(plan: Plan, number: int) -> dict[str, Write]:
    """Every way to generate so many tokens, all from the same weights."""
    model = ours(sizes_of(plan)).eval()
    theirs = to_hugging_face(model).to(plan.device)
    model = model.to(plan.device)
    return {
        OURS: lambda start: greedy_decode(model.generator(), start, None, number),
        RECOMPUTED: lambda start: recompute(model, start, number),
        THEIRS: lambda start: generate(theirs, start, number),
    }


def continuing(plan: Plan) -> Iterator[Comparison]:
    """Greedy decoding up to max_tokens: with our KV cache, without it, and with `transformers`."""
    sizes, prompt = sizes_of(plan), 2 if plan.tiny else 4
    number = sizes["max_tokens"] - prompt
    found = writers(plan, number)
    for batch in (1, 2) if plan.tiny else (1, 64):
        start = torch.randint(sizes["vocab"], (batch, prompt), generator=torch.Generator().manual_seed(0))
        case = f"writing {number} tokens, batch {batch}, fp32"
        comparison = Comparison("gpt", case, "tokens/s", OURS, None, (RECOMPUTED, THEIRS))
        turns = {name: writing(write, [start.to(plan.device)], number) for name, write in found.items()}
        yield measure(comparison, turns, plan.lasting(0.4))
