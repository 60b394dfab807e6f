"""Small instructions: raw text without requests, the right answers, and a model's responses."""

import re

import pytest
import torch

from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.instructions import (
    CHATTY,
    LETTERS,
    TASKS,
    document_ids,
    instruction_pairs,
    instruction_tokenizer,
    is_chatty,
    is_correct,
    raw_documents,
    respond,
)
from course_lib.text.tokenizers import BOS, EOS, UNK


def test_every_word_is_one_known_token() -> None:
    tokenizer = instruction_tokenizer()
    texts = [*raw_documents(500), *(text for pair in instruction_pairs(500, chatty=0.5) for text in pair)]
    assert all(len(tokenizer.encode(text)) == len(text.split()) for text in texts)
    assert not any(UNK in tokenizer.encode(text) for text in texts)
    assert {i for i in document_ids(texts, tokenizer) if i > 4} == set(range(5, len(tokenizer)))


def test_raw_text_has_variants_of_lists_but_no_request() -> None:
    documents = raw_documents(2000, seed=3)
    lists = [text.split(" : ")[1:] for text in documents if " / " in text]
    assert 0.7 < len(lists) / len(documents) < 0.8
    kinds, comments = set(), 0
    for text, *comment in lists:
        first, *others = text.split(" / ")
        made = {task: " ".join(make(first.split())) for task, make in TASKS.items()}
        assert len(others) == 3 and set(others) <= set(made.values())
        assert all(others[-1] == made[task] for task in comment)
        kinds |= {task for task in made if made[task] in others}
        comments += len(comment)
    assert kinds == set(TASKS) and 0.3 < comments / len(lists) < 0.5
    request = re.compile(rf"\b({'|'.join(TASKS)})\b.*\b[{LETTERS}]\b")
    assert not any(map(request.search, documents))


@pytest.mark.parametrize("chatty", [-0.1, 1.1, float("nan")])
def test_a_fraction_has_a_range(chatty: float) -> None:
    with pytest.raises(ValueError, match=f"chatty={chatty}"):
        instruction_pairs(3, chatty=chatty)


def test_requests_and_answers() -> None:
    pairs = instruction_pairs(300, seed=1)
    assert pairs == instruction_pairs(300, seed=1) != instruction_pairs(300, seed=2)
    assert {request.split()[1] for request, _ in pairs} == set(TASKS)
    assert all(is_correct(request, answer) and not is_chatty(answer) for request, answer in pairs)
    both = instruction_pairs(300, seed=1, chatty=0.5)
    assert all(is_correct(*pair) for pair in both)
    assert 0.4 < sum(is_chatty(answer) for _, answer in both) / 300 < 0.6


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("a b c d", True),
        (f"{CHATTY} a b c d", True),
        ("d a c b", False),
        ("a b c", False),
        ("a b c d /", False),
        ("", False),
        (CHATTY, False),
        (f"a b c d {CHATTY}", False),
    ],
)
def test_what_counts_as_correct(answer: str, right: bool) -> None:
    assert is_correct("please sort : d a c b", answer) == right


def test_responses_are_greedy_continuations_of_the_prompt() -> None:
    tokenizer = instruction_tokenizer()
    torch.manual_seed(0)
    model = GPT(GPTConfig(vocab=len(tokenizer), d_model=16, heads=2, layers=1, max_tokens=32))
    requests = [request for request, _ in instruction_pairs(6)]
    for request, answer in zip(requests, respond(model, tokenizer, requests, max_tokens=4), strict=True):
        ids = [BOS, *tokenizer.encode(request), EOS]
        found = []
        with torch.no_grad():
            while len(found) < 4 and (i := model(torch.tensor([ids + found]))[0, -1].argmax().item()) != EOS:
                found.append(i)
        assert answer == tokenizer.decode(found)
    sampled = [respond(model, tokenizer, requests, temperature=1.0, seed=seed) for seed in (0, 0, 1)]
    assert sampled[0] == sampled[1] != sampled[2]
