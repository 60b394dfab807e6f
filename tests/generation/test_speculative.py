"""Speculative decoding: greedy text is unchanged, sampled text has the model's distribution."""

import inspect

import pytest
import torch
from helpers.random_weights import randomized
from helpers.small_training import parts

from course_lib.generation.decoding import greedy_decode
from course_lib.generation.drafts import BigramDraft, ModelDraft
from course_lib.generation.speculative import residual, speculative_decode, verify
from course_lib.layers.kv_cache import GrowingCache, StaticCache
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.language_modeling import SlidingGenerator
from course_lib.text.tokenizers import BOS, EOS

VOCAB = 7


def gpt(seed: int, **sizes) -> GPT:
    sizes = {"d_model": 16, "heads": 2, "layers": 2, "max_tokens": 24, **sizes}
    torch.manual_seed(seed)
    return randomized(GPT(GPTConfig(vocab=VOCAB, **sizes)), scale=0.4)


class Always:
    """A draft that proposes one token again and again."""

    def __init__(self, token: int):
        self.token = token

    def propose(self, ids, count):
        return [self.token] * count, [torch.eye(VOCAB)[self.token]] * count


def drafts(model: GPT) -> list:
    texts = torch.randint(VOCAB, (20, 9), generator=torch.Generator().manual_seed(0)).tolist()
    small = gpt(9, d_model=8, layers=1)
    return [
        Always(3),
        BigramDraft(texts, VOCAB),
        ModelDraft(small.generator()),
        ModelDraft(model.generator()),
    ]


@pytest.mark.parametrize(("lookahead", "positions", "end"), [(1, "learned", None), (4, "rotary", 2)])
def test_the_greedy_text_is_the_same_whatever_the_draft_says(lookahead, positions, end):
    model = gpt(1, positions=positions)
    for prompt in range(VOCAB):
        start = torch.tensor([[prompt, 0]])
        expected = greedy_decode(model.generator(), start, end, 11)[0]
        for draft in drafts(model):
            got = speculative_decode(model.generator(), draft, start, end, 11, lookahead)
            assert got.ids == expected


def test_the_translator_s_greedy_text_is_the_same():
    _, objective, batches = parts(dropout=0.0)
    model = randomized(objective.model, scale=0.3, seed=0)
    small = randomized(parts(seed=1, dropout=0.0, d_model=16)[1].model, scale=0.3, seed=1)
    for row in range(8):
        source, _ = batches.batch_of([row])
        expected = greedy_decode(model.generator(source), torch.tensor([[BOS]]), EOS, 15)[0]
        for draft in (ModelDraft(small.generator(source)), ModelDraft(model.generator(source))):
            got = speculative_decode(model.generator(source), draft, torch.tensor([[BOS]]), EOS, 15)
            assert got.ids == expected


def test_the_model_as_its_own_draft_is_always_accepted():
    model, start = gpt(1), torch.tensor([[1, 4]])
    got = speculative_decode(model.generator(), ModelDraft(model.generator()), start, None, 15, lookahead=4)
    assert (got.passes, got.drafted, got.accepted) == (3, 12, 12)  # 15 tokens, 5 in each pass
    never = int(set(range(VOCAB)).difference(got.ids).pop())
    refused = speculative_decode(model.generator(), Always(never), start, None, 15, lookahead=4)
    assert (refused.passes, refused.accepted) == (15, 0)


def test_accepted_and_replaced_tokens_together_follow_the_model_exactly():
    """q(x) min(1, p/q) + P(rejected) residual(x) = p(x): the rule, added up over all cases."""
    p, q = torch.rand(2, 50, VOCAB, generator=torch.Generator().manual_seed(0)).square()
    p, q = (x / x.sum(dim=-1, keepdim=True) for x in (p, q))
    for mine, theirs in zip(p, q, strict=True):
        accepted = torch.minimum(mine, theirs)
        assert torch.allclose(accepted + (1 - accepted.sum()) * residual(mine, theirs), mine, atol=1e-6)


def test_sampled_texts_follow_the_model_whatever_the_draft():
    """The pairs of tokens in 300 draws: within four standard deviations of their probabilities."""
    model, start, rng = gpt(2, layers=1), torch.tensor([[5]]), torch.Generator().manual_seed(0)
    with torch.inference_mode():
        first = model(start)[0, -1].softmax(dim=-1)
        both = torch.tensor([[5, i] for i in range(VOCAB)])
        expected = (first[:, None] * model(both)[:, -1].softmax(dim=-1)).flatten()
    small = gpt(3, d_model=8, layers=1)
    for draft in (lambda: ModelDraft(small.generator(), temperature=1.0, rng=rng), lambda: Always(1)):
        counts = torch.zeros(VOCAB, VOCAB)
        for _ in range(300):
            got = speculative_decode(model.generator(), draft(), start, None, 2, temperature=1.0, rng=rng)
            counts[got.ids[0], got.ids[1]] += 1
        bound = 4 * (expected * (1 - expected) / 300).sqrt() + 2e-3
        assert ((counts.flatten() / 300 - expected).abs() <= bound).all()


def test_the_first_rejected_token_is_replaced_and_the_rest_dropped():
    one_hot = torch.eye(VOCAB)
    assert verify(one_hot[[4, 2, 6, 1]], list(one_hot[[4, 3, 6]]), [4, 3, 6]) == [4, 2]
    assert verify(one_hot[[4, 6, 2]], list(one_hot[[4, 6]]), [4, 6]) == [4, 6, 2]


def test_after_every_token_the_table_proposes_the_most_frequent_next_one():
    draft = BigramDraft([[1, 2, 3], [1, 2, 4], [2, 4, 1]], VOCAB)
    tokens, q = draft.propose([0, 1], 3)
    assert tokens == [2, 4, 1] == [int(row.argmax()) for row in q]
    assert draft.propose([1], 0) == ([], [])


def test_errors_name_the_numbers():
    with pytest.raises(ValueError, match="2 drafted tokens need 3 rows of p; it has 2"):
        verify(torch.eye(VOCAB)[:2], list(torch.eye(VOCAB)[:2]), [0, 1])
    model = gpt(1)
    with pytest.raises(ValueError, match="max_tokens=0 is not"):
        speculative_decode(model.generator(), Always(1), torch.tensor([[1]]), None, 0)
    with pytest.raises(ValueError, match="do not fit into a cache of max_tokens=24"):
        speculative_decode(model.generator(), Always(1), torch.tensor([[1]]), None, 30)
    with pytest.raises(ValueError, match="2 rows"):  # without the tests' own checks of shapes
        inspect.unwrap(speculative_decode)(model.generator(), Always(1), torch.tensor([[1], [2]]), None, 3)


def test_a_generator_is_for_one_text_and_for_one_of_both():
    model, start = gpt(1), torch.tensor([[1, 4]])
    used = model.generator()
    speculative_decode(used, Always(1), start, None, 5)
    with pytest.raises(ValueError, match="has read"):
        speculative_decode(used, Always(1), start, None, 5)
    with pytest.raises(ValueError, match="has read"):
        speculative_decode(model.generator(), ModelDraft(used), start, None, 5)
    for prompt in range(VOCAB):  # also where one pass is all
        both = model.generator()
        with pytest.raises(ValueError, match="has read"):
            speculative_decode(both, ModelDraft(both), torch.tensor([[prompt]]), None, 2)


def test_a_draft_may_serve_several_texts():
    model, draft = gpt(1), ModelDraft(gpt(1).generator())
    for prompt in ([[1, 4]], [[1, 5, 2]], [[3]], [[1, 4]]):
        start = torch.tensor(prompt)
        expected = greedy_decode(model.generator(), start, None, 9)
        found = speculative_decode(model.generator(), draft, start, None, 9)
        assert [found.ids] == expected and found.accepted == found.drafted


def test_several_tokens_may_end_a_text():
    model = gpt(1)
    for prompt in range(VOCAB):
        start = torch.tensor([[prompt]])
        expected = greedy_decode(model.generator(), start, [2, 5], 11)[0]
        for draft in drafts(model):
            assert speculative_decode(model.generator(), draft, start, [2, 5], 11).ids == expected


def test_no_more_can_be_forgotten_than_was_read():
    keys = torch.randn(1, 2, 3, 4)
    for cache in (GrowingCache(8), StaticCache(8)):
        cache.append(keys, keys)
        for tokens in (4, -1):
            with pytest.raises(ValueError, match=rf"3 tokens .*forget\({tokens}\)"):
                cache.forget(tokens)
        cache.forget(3)
        assert cache.length == 0
    _, objective, batches = parts(dropout=0.0)
    source, start = batches.batch_of([0])[0], torch.tensor([[BOS, 4]])
    for generator in (gpt(1).generator(), objective.model.eval().generator(source)):
        expected = generator.read(start)
        for tokens in (3, -1):
            with pytest.raises(ValueError, match=r"2 tokens .*forget"):
                generator.forget(tokens)
        assert generator.length == 2  # a refusal leaves everything as it was
        generator.forget(1)
        assert torch.allclose(generator.read(start[:, 1:]), expected, atol=1e-5)


def test_a_cache_takes_no_other_number_of_rows():
    cache, keys = GrowingCache(8), torch.randn(3, 2, 1, 4)
    cache.append(keys, keys)
    with pytest.raises(ValueError, match="1 rows .* 3"):
        cache.append(keys[:1], keys[:1])


def test_a_sliding_generator_reads_again_what_it_was_not_told_to_forget():
    model, start = gpt(1, max_tokens=6), torch.tensor([[1, 4, 5, 6, 3, 2]])
    one, other = SlidingGenerator(model), SlidingGenerator(model)
    one.read(start), other.read(start[:, :5])
    one.forget(1)
    for token in torch.tensor([0, 5]).view(-1, 1, 1):
        assert torch.allclose(one.read(token), other.read(token), atol=1e-5)
    one.reset()
    alone = greedy_decode(SlidingGenerator(model), start.view(2, 3), None, 9)
    assert greedy_decode(one, start.view(2, 3), None, 9) == alone
