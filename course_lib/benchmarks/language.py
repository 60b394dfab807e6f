"""Language models: training and generation in tokens per second, against nanoGPT and `transformers`."""

from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.benchmarks.nanogpt import NanoGPT, Setting
from course_lib.benchmarks.timing import Comparison, Plan, Trainer, Turn, measure
from course_lib.generation.decoding import greedy_decode
from course_lib.layers.blocks import FeedForward
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import SINCE_GPT2, to_hugging_face

OURS, MODERN, NANO, THEIRS, RECOMPUTED = "ours", "ours, modern", "nanoGPT", "transformers", "ours, no cache"
LIKE_NANO = "ours, in nanoGPT's form"
SIZES = {"vocab": 65, "d_model": 128, "heads": 4, "layers": 4, "max_tokens": 64}
TINY = {"vocab": 13, "d_model": 16, "heads": 2, "layers": 2, "max_tokens": 12}
PROMPT, PROMPT_TINY = 4, 2


def sizes_of(plan: Plan) -> dict[str, int]:
    return TINY if plan.tiny else SIZES


def ours(sizes: dict[str, int], **form: object) -> GPT:
    torch.manual_seed(0)
    return GPT(GPTConfig(**sizes, **form))


def nano(sizes: dict[str, int]) -> NanoGPT:
    """The rebuilt nanoGPT with these sizes."""
    same = {"vocab": sizes["vocab"], "heads": sizes["heads"], "layers": sizes["layers"]}
    return NanoGPT(Setting(**same, width=sizes["d_model"], context=sizes["max_tokens"]))


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
        models = {OURS: ours(sizes), NANO: nano(sizes), THEIRS: to_hugging_face(ours(sizes))}
        models |= {LIKE_NANO: in_nanogpt_form(ours(sizes)), MODERN: ours(sizes, **SINCE_GPT2)}
        for precision in ("fp32", "bf16"):
            case = f"training, batch {batch}, {sizes['max_tokens']} tokens, {precision}"
            comparison = Comparison("gpt", case, "tokens/s", OURS, None, (NANO, THEIRS))
            turns = {}
            for name, model in models.items():
                logits = (lambda ids, m=model: m(ids).logits) if name == THEIRS else model
                text = windows(2 if plan.tiny else batch, plan)
                turns[name] = Trainer(NextToken(model, logits), text, plan, precision).turn
            yield measure(comparison, turns, plan.lasting(0.25))


@torch.inference_mode()
def recompute(model: GPT, start: Tensor, number: int) -> Tensor:
    """Greedy decoding without a cache; only the last hidden state becomes logits."""
    ids = start
    for _ in range(number):
        best = model.output_logits(model.hidden_states(ids)[:, -1]).argmax(-1, keepdim=True)
        ids = torch.cat([ids, best], dim=1)
    return ids[:, start.shape[1] :]


def generate(model: nn.Module, start: Tensor, number: int) -> Tensor:
    """Greedy decoding with the KV cache of `transformers`."""
    mask, limit = torch.ones_like(start), {"max_new_tokens": number, "min_new_tokens": number}
    with torch.inference_mode():
        ids = model.generate(start, attention_mask=mask, do_sample=False, use_cache=True, **limit)
    return ids[:, start.shape[1] :]


def writers(plan: Plan) -> dict[str, Callable[[Tensor, int], object]]:
    """Every way to generate a number of tokens, all from the same weights."""
    model = ours(sizes_of(plan)).eval()
    theirs = to_hugging_face(model).to(plan.device)
    model = model.to(plan.device)
    return {
        OURS: lambda start, number: greedy_decode(model.generator(), start, None, number),
        RECOMPUTED: partial(recompute, model),
        THEIRS: partial(generate, theirs),
    }


def writing(plan: Plan) -> Iterator[Comparison]:
    """Greedy decoding up to max_tokens: with our KV cache, without it, and with `transformers`."""
    sizes = sizes_of(plan)
    prompt = PROMPT_TINY if plan.tiny else PROMPT
    number, found = sizes["max_tokens"] - prompt, writers(plan)
    for batch in (1, 2) if plan.tiny else (1, 64):
        start = torch.randint(sizes["vocab"], (batch, prompt), generator=torch.Generator().manual_seed(0))
        start = start.to(plan.device)
        comparison = Comparison(
            "gpt",
            f"writing {number} tokens, batch {batch}, fp32",
            "tokens/s",
            OURS,
            None,
            (RECOMPUTED, THEIRS),
        )
        turns = {name: turn_of(write, start, number) for name, write in found.items()}
        yield measure(comparison, turns, plan.lasting(0.4))


def turn_of(write: Callable[[Tensor, int], object], start: Tensor, number: int) -> Turn:
    def turn(_: int) -> int:
        write(start, number)
        return len(start) * number

    return turn


def language(plan: Plan) -> Iterator[Comparison]:
    """Training, then generation."""
    yield from training(plan)
    yield from writing(plan)
