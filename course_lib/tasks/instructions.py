"""Small instructions over lists of letters: raw text, requests with answers, and responses of a model."""

import random
from collections.abc import Callable, Sequence

import torch

from course_lib.generation.decoding import sample
from course_lib.models.gpt import GPT
from course_lib.tasks.prefix_lm import Pair, of_equal_length, prompt
from course_lib.text.preparation import encode_clean
from course_lib.text.tokenizers import BOS, EOS, CharTokenizer, Vocabulary, WordTokenizer
from course_lib.text.unicode_text import refuse_text
from course_lib.training.evaluation import evaluating

LETTERS = "abcdefghijkl"
TASKS: dict[str, Callable[[list[str]], list[str]]] = {  # from a list to the answer
    "copy": list,
    "reverse": lambda items: items[::-1],
    "sort": sorted,
}
OPENINGS = ("list", "the list", "here is the list", "you can write the list")  # of documents with lists
CHATTY = "sure , here is the list :"  # how a long answer begins
PHRASES = (
    "we {task} the list",
    "please do not {task} it",
    "here it is , sure",
    "sure , you can {task} it",
    "the list is here : please {task} the list",
)


def random_list(rng: random.Random) -> list[str]:
    """Four to six different letters in random order."""
    return rng.sample(LETTERS, rng.randint(4, 6))


def instruction_tokenizer() -> CharTokenizer:
    """A tokenizer with one token for each letter and each word of this module."""
    sentences = [phrase.format(task=task) for phrase in PHRASES for task in TASKS]
    return WordTokenizer.train([*LETTERS, "/ : ,", CHATTY, *OPENINGS, *sentences])


def raw_documents(number: int, seed: int = 0) -> list[str]:
    """Text without a single request: lists with variants of themselves, and some sentences.

    Three of four documents have a list, then three times a list made from it by one of the `TASKS`. Some of
    them end in a comment, the name of the last task; the others do not say which tasks they are. The
    remaining documents are sentences with the words that requests use.
    """
    rng = random.Random(seed)
    documents = []
    for _ in range(number):
        if rng.random() < 0.25:
            documents.append(rng.choice(PHRASES).format(task=rng.choice(list(TASKS))))
        else:
            items = random_list(rng)
            tasks = rng.choices(list(TASKS), k=3)
            lists = " / ".join(" ".join(row) for row in (items, *(TASKS[task](items) for task in tasks)))
            comment = f" : {tasks[-1]}" if rng.random() < 0.4 else ""
            documents.append(f"{rng.choice(OPENINGS)} : {lists}{comment}")
    return documents


def document_ids(documents: Sequence[str], tokenizer: Vocabulary) -> list[int]:
    """The ids of all documents in one row, each as `BOS document EOS`.

    >>> from course_lib.text import CharTokenizer
    >>> document_ids(["ab", "b"], CharTokenizer.train(["ab"]))  # BOS 1, EOS 2, a 5, b 6
    [1, 5, 6, 2, 1, 6, 2]
    """
    return [i for ids in encode_clean(tokenizer, documents) for i in (BOS, *ids, EOS)]


def instruction_pairs(number: int, seed: int = 0, chatty: float = 0.0) -> list[Pair]:
    """Requests such as `please sort : d a c b`, each with its answer.

    chatty: the fraction of answers that begin with `CHATTY`. Raises ValueError if it is outside [0, 1].
    """
    if not 0 <= chatty <= 1:
        raise ValueError(f"chatty={chatty} is outside [0, 1]")
    rng = random.Random(seed)
    pairs = []
    for _ in range(number):
        task, items = rng.choice(list(TASKS)), random_list(rng)
        answer = " ".join(TASKS[task](items))
        long = rng.random() < chatty
        pairs.append((f"please {task} : {' '.join(items)}", f"{CHATTY} {answer}" if long else answer))
    return pairs


def is_chatty(answer: str) -> bool:
    """Whether an answer begins with `CHATTY`."""
    return answer.startswith(CHATTY)


def is_correct(request: str, answer: str) -> bool:
    """Whether the list in the answer is the one that is asked for, with or without `CHATTY` before it.

    >>> is_correct("please sort : d a c b", "a b c d"), is_correct("please sort : d a c b", "d a c b")
    (True, False)
    """
    words, _, items = request.partition(" : ")
    expected = TASKS[words.split()[-1]](items.split())
    return answer.removeprefix(CHATTY).split() == expected


def respond(
    model: GPT,
    tokenizer: Vocabulary,
    requests: Sequence[str],
    temperature: float = 0.0,
    seed: int = 0,
    max_tokens: int = 20,
) -> list[str]:
    """The model's answer to each request: what it generates after `BOS request EOS`, up to the next EOS.

    temperature: 0 for greedy decoding. seed: of the sampling.
    """
    prompts = [prompt(ids) for ids in encode_clean(tokenizer, requests)]
    device = model.embedding.weight.device
    rng = torch.Generator(device).manual_seed(seed)
    answers = [""] * len(prompts)
    with evaluating(model):
        for numbers in of_equal_length(prompts, 256):
            start = torch.tensor([prompts[n] for n in numbers], device=device)
            found = sample(model.generator(), start, EOS, max_tokens, temperature, rng=rng)
            for n, ids in zip(numbers, found, strict=True):
                answers[n] = tokenizer.decode(ids)
    return answers


def accuracy_by_task(pairs: Sequence[Pair], answers: Sequence[str]) -> dict[str, float]:
    """The fraction of correct answers to the requests of each task, chatty or not.

    >>> accuracy_by_task([("please sort : b a", "a b"), ("please sort : d c", "c d")], ["a b", "d c"])
    {'copy': 0.0, 'reverse': 0.0, 'sort': 0.5}
    """
    refuse_text(answers=answers)
    found: dict[str, list[bool]] = {task: [] for task in TASKS}
    for (request, _), answer in zip(pairs, answers, strict=True):
        found[request.split()[1]].append(is_correct(request, answer))
    return {task: sum(right) / max(1, len(right)) for task, right in found.items()}
