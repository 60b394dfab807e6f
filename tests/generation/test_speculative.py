"""Speculative decoding: greedy text is unchanged, sampled text has the model's distribution."""

import itertools

import pytest
import torch
from helpers.random_weights import randomized
from helpers.small_training import parts

from course_lib.generation.decoding import greedy_decode
from course_lib.generation.drafts import BigramDraft, ModelDraft
from course_lib.generation.speculative import residual, speculative_decode, verify
from course_lib.models.gpt import GPT, GPTConfig
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
    for prompt in itertools.product(range(VOCAB), range(3)):
        start = torch.tensor([prompt])
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
    """The pairs of tokens in 600 draws: within four standard deviations of their probabilities."""
    model, start, rng = gpt(2, layers=1), torch.tensor([[5]]), torch.Generator().manual_seed(0)
    with torch.inference_mode():
        first = model(start)[0, -1].softmax(dim=-1)
        both = torch.tensor([[5, i] for i in range(VOCAB)])
        expected = (first[:, None] * model(both)[:, -1].softmax(dim=-1)).flatten()
    small = gpt(3, d_model=8, layers=1)
    for draft in (lambda: ModelDraft(small.generator(), temperature=1.0, rng=rng), lambda: Always(1)):
        counts = torch.zeros(VOCAB, VOCAB)
        for _ in range(600):
            got = speculative_decode(model.generator(), draft(), start, None, 2, temperature=1.0, rng=rng)
            counts[got.ids[0], got.ids[1]] += 1
        bound = 4 * (expected * (1 - expected) / 600).sqrt() + 2e-3
        assert ((counts.flatten() / 600 - expected).abs() <= bound).all()


def test_the_first_rejected_token_is_replaced_and_the_rest_dropped():
    one_hot = torch.eye(VOCAB)
    assert verify(one_hot[[4, 2, 6, 1]], list(one_hot[[4, 3, 6]]), [4, 3, 6]) == [4, 2]
    assert verify(one_hot[[4, 6, 2]], list(one_hot[[4, 6]]), [4, 6]) == [4, 6, 2]


def test_after_every_token_the_table_proposes_the_most_frequent_next_one():
    draft = BigramDraft([[1, 2, 3], [1, 2, 4], [2, 4, 1]], VOCAB)
    tokens, q = draft.propose([0, 1], 3)
    assert tokens == [2, 4, 1] == [int(row.argmax()) for row in q]
    assert draft.propose([1], 0) == ([], [])


def test_errors_name_both_numbers():
    with pytest.raises(ValueError, match="2 drafted tokens need 3 rows of p; it has 2"):
        verify(torch.eye(VOCAB)[:2], list(torch.eye(VOCAB)[:2]), [0, 1])
    model = gpt(1)
    with pytest.raises(ValueError, match="max_tokens=0 and lookahead=4"):
        speculative_decode(model.generator(), Always(1), torch.tensor([[1]]), None, 0)
    with pytest.raises(ValueError, match="do not fit into a cache of max_tokens=24"):
        speculative_decode(model.generator(), Always(1), torch.tensor([[1]]), None, 30)
