"""nanoGPT rebuilt computes what our GPT computes in its form, and has its published size."""

import pytest
import torch
from helpers.norms import norms

from course_lib.benchmarks.language import in_nanogpt_form
from course_lib.benchmarks.nanogpt import NanoGPT, Setting
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import SINCE_GPT2

SMALL = Setting(vocab=11, layers=2, heads=2, width=12, context=9)


def copied() -> tuple[GPT, NanoGPT]:
    """Our model in the form of the rebuild, and the rebuild, with the same weights."""
    torch.manual_seed(0)
    theirs = NanoGPT(SMALL)
    ours = in_nanogpt_form(GPT(GPTConfig(vocab=11, d_model=12, heads=2, layers=2, max_tokens=9)))
    with torch.no_grad():
        for p in theirs.parameters():
            p += 0.2 * torch.randn_like(p)
        ours.embedding.weight.copy_(theirs.tokens.weight)
        ours.positions.table.copy_(theirs.places.weight)
        ours.norm.weight.copy_(theirs.norm.weight)
        for mine, his in zip(ours.blocks, theirs.blocks, strict=True):
            for ours_norm, norm in zip(norms(mine), his.norms, strict=True):
                ours_norm.weight.copy_(norm.weight)
            mine.attention.w_q.weight.copy_(his.project.weight[:12])
            mine.attention.w_kv.weight.copy_(his.project.weight[12:])
            mine.attention.w_o.weight.copy_(his.attention_out.weight)
            mine.feed_forward.w_in.weight.copy_(his.hidden.weight)
            mine.feed_forward.w_out.weight.copy_(his.hidden_out.weight)
    return ours, theirs


def test_the_rebuild_computes_what_ours_computes():
    ours, theirs = copied()
    ids = torch.randint(11, (2, 7))
    assert torch.allclose(ours(ids), theirs(ids), atol=1e-4)
    sizes = [sum(p.numel() for p in model.parameters()) for model in (ours, theirs)]
    assert sizes[0] == sizes[1]  # and nothing more


def test_its_published_size():
    theirs = sum(p.numel() for p in NanoGPT(Setting()).parameters())
    assert theirs == 804_096 and theirs - 64 * 128 == 795_904  # 0.80 million, as it counts them
    modern = sum(p.numel() for p in GPT(GPTConfig(vocab=70, **SINCE_GPT2)).parameters())
    assert modern == 802_304 < theirs
    gpt2 = sum(p.numel() for p in GPT(GPTConfig(vocab=70)).parameters())
    assert gpt2 / theirs == pytest.approx(1, abs=0.01)
