"""The row of the language models: nanoGPT rebuilt, and ways of writing that write the same."""

import pytest
import torch
from helpers.norms import norms

from course_lib.benchmarks import language
from course_lib.benchmarks.language import TINY, NanoGPT, in_nanogpt_form
from course_lib.benchmarks.timing import Plan
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import SINCE_GPT2


def count(model):
    return sum(p.numel() for p in model.parameters())


def test_all_ways_of_writing_write_the_same():
    start = torch.randint(13, (3, 2), generator=torch.Generator().manual_seed(0))
    written = [write(start) for write in language.writers(Plan(tiny=True), 10).values()]
    as_lists = [w if isinstance(w, list) else w.tolist() for w in written]
    assert as_lists[0] == as_lists[1] == as_lists[2] and len(as_lists[0][0]) == 10


def test_nanogpt_rebuilt_computes_what_ours_computes_in_its_form():
    torch.manual_seed(0)
    theirs, ours = NanoGPT(**TINY), in_nanogpt_form(GPT(GPTConfig(**TINY)))
    with torch.no_grad():
        for p in theirs.parameters():
            p += 0.2 * torch.randn_like(p)
        ours.embedding.weight.copy_(theirs.tokens.weight)
        ours.positions.table.copy_(theirs.places.weight)
        ours.norm.weight.copy_(theirs.norm.weight)
        for mine, his in zip(ours.blocks, theirs.blocks, strict=True):
            for ours_norm, norm in zip(norms(mine), his.norms, strict=True):
                ours_norm.weight.copy_(norm.weight)
            mine.attention.w_q.weight.copy_(his.project.weight[: TINY["d_model"]])
            mine.attention.w_kv.weight.copy_(his.project.weight[TINY["d_model"] :])
            mine.attention.w_o.weight.copy_(his.attention_out.weight)
            mine.feed_forward.w_in.weight.copy_(his.hidden.weight)
            mine.feed_forward.w_out.weight.copy_(his.hidden_out.weight)
    ids = torch.randint(13, (2, 7))
    assert torch.allclose(ours(ids), theirs(ids), atol=1e-4)
    assert count(ours) == count(theirs)  # and nothing more


def test_nanogpt_has_its_published_size():
    theirs = count(NanoGPT(**language.SIZES))
    assert theirs == 804_096 and theirs - 64 * 128 == 795_904  # 0.80 million, as it counts them
    modern, gpt2 = (count(GPT(GPTConfig(vocab=70, **form))) for form in (SINCE_GPT2, {}))
    assert modern == 802_304 < theirs and gpt2 / theirs == pytest.approx(1, abs=0.01)
