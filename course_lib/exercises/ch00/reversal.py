"""Reversing a string: the ideal attention map, and what can be known without positions."""

import torch

from course_lib.exercises.exercise import Exercise, mistake

MIRROR = Exercise(
    id="00.mirror",
    reference=lambda n: torch.eye(n).flip(0),
    inputs=((2,), (3,), (5,), (16,)),
    mistakes=(
        mistake(
            "your map copies the string instead of reversing it",
            "With ones on the main diagonal, each position takes its own letter. Position 0 must take the "
            "last letter.",
            lambda n: torch.eye(n),
        ),
        mistake(
            "your map is off by one",
            "Positions count from 0, so position i takes the letter at n − 1 − i. Check that position 0 "
            "takes the last letter.",
            lambda n: torch.eye(n).flip(0).roll(1, 1),
            lambda n: torch.eye(n).flip(0).roll(-1, 1),
        ),
        mistake(
            "your map shifts the string instead of reversing it",
            "A shift moves every letter by the same distance. In a reversed string, the first letter moves "
            "furthest and the middle one not at all.",
            lambda n: torch.eye(n).roll(1, 0),
            lambda n: torch.eye(n).roll(-1, 0),
        ),
        mistake(
            "your map spreads the weight over all letters",
            "Then every position gets the same average of all letters. Put the whole weight, 1, on one "
            "letter in each row.",
            lambda n: torch.full((n, n), 1 / n),
        ),
        mistake(
            "your code returns the positions, not the weights",
            "n − 1, …, 0 are the columns of the ones. Put a 1 at these places into a matrix of zeros with n "
            "rows.",
            lambda n: torch.arange(n).flip(0),
        ),
        mistake(
            "your map takes every letter twice",
            "Each row must sum to 1: position i takes only the letter at n − 1 − i, and not its own.",
            lambda n: torch.eye(n) + torch.eye(n).flip(0),
        ),
    ),
)


def _others(string: str, i: int) -> str:
    return string[:i] + string[i + 1 :]


def _most(letters: str) -> int:
    return max(map(letters.count, letters), default=0)


BAG = Exercise(
    id="00.bag",
    reference=lambda string, i: _most(_others(string, i)) / (len(string) - 1),
    inputs=(("ab", 0), ("aabc", 0), ("aabc", 2), ("aabcb", 1), ("aabb", 3), ("aaaab", 0), ("abcdeaab", 3)),
    mistakes=(
        mistake(
            "your code counts the letter at position i itself",
            "The letter that is needed comes from another position. Leave out position i before you count.",
            lambda string, i: _most(string) / len(string),
            lambda string, i: _most(string) / (len(string) - 1),
        ),
        mistake(
            "your code divides by the length of the whole string",
            "The needed letter is one of the others, and there are len(string) − 1 of them.",
            lambda string, i: _most(_others(string, i)) / len(string),
        ),
        mistake(
            "your code guesses one of the other letters at random",
            "A letter that appears twice among the others is right twice as often. Always guess the most "
            "frequent one.",
            lambda string, i: 1 / len(_others(string, i)),
            lambda string, i: 1 / len(set(_others(string, i))),
        ),
        mistake(
            "your code removes every copy of the letter at position i",
            "Only position i itself cannot be the one that is needed. A copy of the same letter can be.",
            lambda string, i: _most(string.replace(string[i], "")) / (len(string) - 1),
            lambda string, i: (
                _most(string.replace(string[i], "")) / max(1, len(string.replace(string[i], "")))
            ),
        ),
        mistake(
            "your code returns a count, not a probability",
            "Divide how often the most frequent letter appears by the number of other letters.",
            lambda string, i: _most(_others(string, i)),
        ),
        mistake(
            "your code returns the guess, not how often it is right",
            "The guess is the most frequent of the other letters. Return the fraction of them that it makes "
            "up.",
            lambda string, i: max(_others(string, i), key=_others(string, i).count),
        ),
        mistake(
            "your code guesses the letter at position i",
            "The letter that is needed comes from another position, so its own letter is a good guess only "
            "if it is the most frequent among the others.",
            lambda string, i: _others(string, i).count(string[i]) / (len(string) - 1),
            lambda string, i: string.count(string[i]) / len(string),
        ),
        mistake(
            "your answer is chance over the alphabet",
            "1 in 20 is right for a model that knows nothing of the string. This one knows the bag of its "
            "letters.",
            lambda string, i: 1 / 20,
        ),
    ),
)
