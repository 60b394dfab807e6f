"""BLEU: clipped n-gram precision, brevity penalty, and the score of a corpus."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.text.bleu import brevity_penalty, corpus_bleu, matches, ngrams

Words = Sequence[str]


def _precision(
    count: Callable[[Words, Words, int], float], total: Callable[[Words, Words, int], int]
) -> Answer:
    return lambda candidate, reference, n: count(candidate, reference, n) / total(candidate, reference, n)


def _ngram_total(candidate: Words, reference: Words, n: int) -> int:
    return len(candidate) - n + 1


def _unclipped(candidate: Words, reference: Words, n: int) -> int:
    known = ngrams(reference, n)
    return sum(count for ngram, count in ngrams(candidate, n).items() if ngram in known)


def _same_position(candidate: Words, reference: Words, n: int) -> int:
    starts = range(min(len(candidate), len(reference)) - n + 1)
    return sum(candidate[i : i + n] == reference[i : i + n] for i in starts)


def _distinct(candidate: Words, reference: Words, n: int) -> int:
    return len(ngrams(candidate, n).keys() & ngrams(reference, n).keys())


def _grams(words: Words, n: int, starts: int) -> Counter:
    return Counter(tuple(words[i : i + n]) for i in range(starts))


def _from_starts(starts: Callable[[Words, int], int], total: Answer | None = None) -> Answer:
    """Clipped precision with n-grams from this many start positions; `total` replaces their number."""

    def precision(candidate: Words, reference: Words, n: int) -> float:
        mine, theirs = (_grams(words, n, starts(words, n)) for words in (candidate, reference))
        return (mine & theirs).total() / (total(candidate, reference, n) if total else mine.total())

    return precision


def _but_the_last(words: Words, n: int) -> int:
    return len(words) - n


def _from_every_word(words: Words, n: int) -> int:
    return len(words)


PRECISION = Exercise(
    id="06c.precision",
    reference=lambda candidate, reference, n: matches(candidate, reference, n) / (len(candidate) - n + 1),
    inputs=(
        ("the the the".split(), "the cat saw the dog".split(), 1),
        ("a b c".split(), "x a b c".split(), 1),
        ("a b c d a b".split(), "a b a b x y z".split(), 2),
        ("on the mat on the mat".split(), "the cat is on the mat".split(), 3),
        ("we go home now".split(), "now we all go home now".split(), 2),
    ),
    mistakes=(
        mistake(
            "your code does not clip",
            "An n-gram counts at most as often as it occurs in the reference. Otherwise, 'the the the' "
            "gets full precision if the reference contains one 'the'.",
            _precision(_unclipped, _ngram_total),
        ),
        mistake(
            "your code misses the last n-gram",
            "The last n-gram starts at position len(candidate) − n, and range stops *before* its end. Write "
            "range(len(candidate) - n + 1), and the same for `reference`.",
            _from_starts(_but_the_last),
            _from_starts(_but_the_last, _ngram_total),
        ),
        mistake(
            "your code starts an n-gram at every word",
            "Near the end there are fewer than n words left, so words[i : i + n] is too short to be an "
            "n-gram. Stop at range(len(candidate) - n + 1), and do the same for `reference`.",
            _from_starts(_from_every_word),
            _from_starts(_from_every_word, _ngram_total),
        ),
        mistake(
            "your code counts each n-gram only once",
            "An n-gram that occurs twice in the reference can match twice. Compare counts, not just "
            "whether it occurs.",
            _precision(_distinct, _ngram_total),
        ),
        mistake(
            "your code compares sets of n-grams",
            "Sets lose the repetitions in numerator and denominator. Count with a Counter.",
            _precision(_distinct, lambda candidate, reference, n: len(ngrams(candidate, n))),
        ),
        mistake(
            "your code divides by the n-grams of the reference",
            "That is recall. Precision is the fraction of the *candidate's* n-grams that match; the "
            "length of the reference enters through the brevity penalty.",
            _precision(matches, lambda candidate, reference, n: len(reference) - n + 1),
        ),
        mistake(
            "your code divides by the number of words",
            "A sentence of w words has w − n + 1 n-grams. Divide by that.",
            _precision(matches, lambda candidate, reference, n: len(candidate)),
        ),
        mistake(
            "your code requires each n-gram at the same position",
            "Then one extra word at the start would make everything wrong. An n-gram can match "
            "anywhere in the reference.",
            _precision(_same_position, _ngram_total),
        ),
        mistake(
            "your code takes the larger of the two counts",
            "`|` of two counters takes the larger count for each n-gram, matched or not. `&` takes the "
            "smaller.",
            _precision(
                lambda candidate, reference, n: (ngrams(candidate, n) | ngrams(reference, n)).total(),
                _ngram_total,
            ),
        ),
        mistake(
            "your code divides by the number of distinct n-grams",
            "An n-gram that occurs twice counts twice in the denominator, too: mine.total(), not len(mine).",
            _precision(matches, lambda candidate, reference, n: len(ngrams(candidate, n))),
        ),
        mistake(
            "your precision runs from 0 to 100",
            "The exercise asks for a fraction. Do not multiply by 100.",
            _precision(lambda *arguments: 100 * matches(*arguments), _ngram_total),
        ),
        mistake(
            "your code returns the number of matches",
            "Divide it by the number of the candidate's n-grams.",
            lambda candidate, reference, n: matches(candidate, reference, n),
        ),
        mistake(
            "your code compares only single words",
            "`n` is the length of the n-grams. Compare candidate[i : i + n].",
            lambda candidate, reference, n: matches(candidate, reference, 1) / len(candidate),
        ),
        mistake(
            "your code divides by the n-grams of both sentences",
            "That is a similarity of two sets. Precision divides by the *candidate's* n-grams.",
            lambda candidate, reference, n: (
                len(ngrams(candidate, n).keys() & ngrams(reference, n).keys())
                / len(ngrams(candidate, n).keys() | ngrams(reference, n).keys())
            ),
            lambda candidate, reference, n: (
                matches(candidate, reference, n) / (ngrams(candidate, n) | ngrams(reference, n)).total()
            ),
        ),
    ),
)

BREVITY = Exercise(
    id="06c.brevity",
    reference=lambda c, r: brevity_penalty(c, r),
    inputs=((3, 6), (6, 6), (8, 6), (1900, 2000)),
    mistakes=(
        mistake(
            "your penalty has the ratio upside down",
            "With c/r instead of r/c, the exponent is positive for a short candidate and rewards it. "
            "Use 1 − r/c.",
            lambda c, r: 1.0 if c >= r else math.exp(1 - c / r),
            lambda c, r: math.exp(1 - c / r),
        ),
        mistake(
            "your code penalizes long candidates instead of short ones",
            "Extra words already lower the precision. Only a candidate with c < r needs a penalty.",
            lambda c, r: 1.0 if c <= r else math.exp(1 - c / r),
            lambda c, r: 1.0 if c <= r else math.exp(1 - r / c),
        ),
        mistake(
            "your penalty is not capped at 1",
            "If the candidate is longer than the reference, the exponent is positive and rewards the "
            "length. Return 1 in that case.",
            lambda c, r: math.exp(1 - r / c),
        ),
        mistake(
            "your penalty is the plain ratio of the lengths",
            "For a candidate of half the length, the penalty is not 1/2 but e^(1 − 2) = 0.37. Use the "
            "exponential.",
            lambda c, r: min(1.0, c / r),
            lambda c, r: c / r,
        ),
        mistake(
            "your penalty leaves out the 1 in the exponent",
            "For equal lengths the penalty must be 1 = e^0. The exponent is 1 − r/c.",
            lambda c, r: 1.0 if c >= r else math.exp(-r / c),
            lambda c, r: math.exp(-r / c),
        ),
        mistake(
            "your exponent has the wrong sign",
            "A short candidate must get less than 1, so its exponent is negative: 1 − r/c, not r/c − 1.",
            lambda c, r: 1.0 if c >= r else math.exp(r / c - 1),
            lambda c, r: math.exp(r / c - 1),
        ),
        mistake(
            "your exponent is c/r − 1",
            "The reference's length is on top: 1 − r/c. It falls faster, the shorter the candidate is.",
            lambda c, r: 1.0 if c >= r else math.exp(c / r - 1),
            lambda c, r: math.exp(c / r - 1),
        ),
        mistake(
            "your exponent is a difference of words",
            "The penalty depends on the ratio of the lengths: 1 − r/c.",
            lambda c, r: 1.0 if c >= r else math.exp(c - r),
        ),
        mistake(
            "your penalty has the base 10",
            "It is an exponential to the base e: math.exp(1 - r / c).",
            lambda c, r: 1.0 if c >= r else 10 ** (1 - r / c),
        ),
        mistake(
            "your penalty falls for long candidates, too",
            "A candidate that is at least as long as its reference has the penalty 1. Precision "
            "already counts its extra words.",
            lambda c, r: math.exp(1 - max(c, r) / min(c, r)),
        ),
    ),
)


def _geometric(precisions: Sequence[float]) -> float:
    return math.prod(precisions) ** (1 / len(precisions))


def _logarithmic(precisions: Sequence[float]) -> float:
    return math.exp(fmean(map(math.log, precisions)))  # fails if a precision is 0


def _no_penalty(candidates: Sequence[Words], references: Sequence[Words]) -> float:
    return 1.0


def _penalty(candidates: Sequence[Words], references: Sequence[Words]) -> float:
    return brevity_penalty(sum(map(len, candidates)), sum(map(len, references)))


def _swapped_penalty(candidates: Sequence[Words], references: Sequence[Words]) -> float:
    return _penalty(references, candidates)


def _first_penalty(candidates: Sequence[Words], references: Sequence[Words]) -> float:
    return _penalty(candidates[:1], references[:1])


def _mean_penalty(candidates: Sequence[Words], references: Sequence[Words]) -> float:
    pairs = zip(candidates, references, strict=True)
    return fmean(brevity_penalty(len(c), len(r)) for c, r in pairs)


def _all(candidate: Words, reference: Words, n: int) -> int:
    return ngrams(candidate, n).total()


def _all_of_reference(candidate: Words, reference: Words, n: int) -> int:
    return ngrams(reference, n).total()


def _kinds(candidate: Words, reference: Words, n: int) -> int:
    return len(ngrams(candidate, n))


def _summed(count: Answer = matches, least: int = 0, of: Answer | None = None, at_least: int = 1) -> Answer:
    """Precisions of a corpus for n = 1 to 4.

    least: a sentence's n-grams at least. of: counts them in another way. at_least: of the whole corpus.
    """

    def precisions(candidates: Sequence[Words], references: Sequence[Words]) -> list[float]:
        pairs = list(zip(candidates, references, strict=True))
        found = [sum(count(c, r, n) for c, r in pairs) for n in (1, 2, 3, 4)]
        total = [
            sum(of(c, r, n) if of else max(len(c) - n + 1, least) for c, r in pairs) for n in (1, 2, 3, 4)
        ]
        return [f / (t if t < 0 else max(t, at_least)) for f, t in zip(found, total, strict=True)]

    return precisions


def _pooled(candidates: Sequence[Words], references: Sequence[Words]) -> list[float]:
    """Precisions with n-grams that may match in any sentence of the corpus."""

    def union(texts: Sequence[Words], n: int) -> Counter:
        return sum((ngrams(text, n) for text in texts), Counter())

    both = [(union(candidates, n), union(references, n)) for n in (1, 2, 3, 4)]
    return [(mine & theirs).total() / max(mine.total(), 1) for mine, theirs in both]


def _averaged(candidates: Sequence[Words], references: Sequence[Words]) -> list[float]:
    pairs = list(zip(candidates, references, strict=True))
    return [fmean(matches(c, r, n) / max(len(c) - n + 1, 1) for c, r in pairs) for n in (1, 2, 3, 4)]


def _bleu(
    mean: Answer = _geometric, precisions: Answer | None = None, penalty: Answer = _penalty, top: int = 100
) -> Answer:
    of_corpus = precisions or _summed()
    return lambda candidates, references: (
        top * penalty(candidates, references) * mean(of_corpus(candidates, references))
    )


def _mean_of_sentences(candidates: Sequence[Words], references: Sequence[Words]) -> float:
    return fmean(corpus_bleu([c], [r]).score for c, r in zip(candidates, references, strict=True))


_CAT, _DOOR = "the cat is on the mat".split(), "the dog is at the old door".split()

BLEU = Exercise(
    id="06c.bleu",
    reference=lambda candidates, references: corpus_bleu(candidates, references).score,
    inputs=(
        (["the cat is on the the mat".split(), "a dog is at the old door".split()], [_CAT, _DOOR]),
        (["the cat is on the".split(), "dog".split()], [_CAT, _DOOR]),
        (["the cat sat on the mat".split()], [_CAT]),
        (["is on the mat".split(), "the dog is at the old front door".split()], [_CAT, _DOOR]),
        (["is on the mat".split()], [_CAT]),  # a single 4-gram
        (["the cat is".split()], [_CAT]),  # no 4-gram at all
        (["the cat".split(), "the dog is on the mat".split()], [_DOOR, "the cat is on the mat".split()]),
    ),
    mistakes=(
        mistake(
            "your score is the mean of the sentences' scores",
            "A single sentence without a matching 4-gram would count as 0, whatever else is right. Sum the "
            "matches and the n-grams over all sentences first, then compute one score.",
            _mean_of_sentences,
        ),
        mistake(
            "your code averages the precisions over the sentences",
            "Then a sentence of one word weighs as much as one of thirty. Sum the matches and the n-grams "
            "over the corpus, and divide once for each n.",
            _bleu(precisions=_averaged),
        ),
        mistake(
            "your score is the arithmetic mean",
            "BLEU takes the geometric mean, which is 0 if any precision is 0. The arithmetic mean "
            "would hide that.",
            _bleu(mean=fmean),
        ),
        mistake(
            "your score takes no root",
            "The product of four numbers below 1 is far below each of them. The geometric mean of four "
            "precisions is the fourth root of their product.",
            _bleu(mean=math.prod),
        ),
        mistake(
            "your score has no brevity penalty, or c and r are numbers of sentences",
            "There are as many candidates as references, so with len(candidates) the penalty is always 1. "
            "Sum the *words* of all candidates, and those of all references.",
            _bleu(penalty=_no_penalty),
        ),
        mistake(
            "your code swaps c and r",
            "c are the words of the candidates, r those of the references. Swapped, long candidates would be "
            "penalized instead of short ones.",
            _bleu(penalty=_swapped_penalty),
        ),
        mistake(
            "your penalty looks at the first sentence only",
            "The penalty compares the words of *all* candidates with those of all references.",
            _bleu(penalty=_first_penalty),
        ),
        mistake(
            "your code divides by the n-grams of the reference",
            "That is recall. Precision divides by the *candidates'* n-grams: mine.total().",
            _bleu(precisions=_summed(of=_all_of_reference)),
        ),
        mistake(
            "your code counts matching n-grams only once",
            "An n-gram that occurs twice in both sentences matches twice: (mine & theirs).total(), not "
            "len(mine & theirs).",
            _bleu(precisions=_summed(_distinct)),
        ),
        mistake(
            "your code counts each of the candidate's n-grams only once",
            "An n-gram that occurs twice counts twice: mine.total(), not len(mine).",
            _bleu(precisions=_summed(of=_kinds)),
        ),
        mistake(
            "your code counts distinct n-grams",
            "len() counts each n-gram once. Use .total() for the matches and for the candidates' n-grams.",
            _bleu(precisions=_summed(_distinct, of=_kinds)),
        ),
        mistake(
            "your code counts all n-grams as matches",
            "Only those that the reference has too: (mine & theirs).total().",
            _bleu(precisions=_summed(_all)),
            _bleu(precisions=_summed(_all_of_reference)),
        ),
        mistake(
            "your code lets an n-gram match in another sentence",
            "Each candidate is compared with its own reference. Take the matches of each pair first, then "
            "sum.",
            _bleu(precisions=_pooled),
        ),
        mistake(
            "your code fails if no sentence has four words",
            "Then there is no 4-gram to divide by, and the score must be 0. Keep max(total, 1).",
            _bleu(precisions=_summed(at_least=0)),
        ),
        mistake(
            "your code computes a brevity penalty for each sentence",
            "BLEU compares the *total* lengths: one short sentence may be made up for by a long one. Sum the "
            "words of all `candidates` and of all `references`, then compute one penalty.",
            _bleu(penalty=_mean_penalty),
        ),
        mistake(
            "your code does not clip",
            "An n-gram counts at most as often as it occurs in the reference of its sentence. Take the "
            "smaller of the two counts.",
            _bleu(precisions=_summed(_unclipped)),
        ),
        mistake(
            "your code counts a negative number of n-grams",
            "A sentence of one word has no bigrams, but 1 − 2 + 1 = 0 and for trigrams 1 − 3 + 1 = −1. Use "
            "max(len(words) - n + 1, 0).",
            _bleu(precisions=_summed(least=-9)),
        ),
        mistake(
            "your code fails if a precision is 0",
            "log 0 is undefined, but the score must be 0. Multiply and take the root, or check for 0 first.",
            _bleu(mean=_logarithmic),
        ),
        mistake(
            "your score runs from 0 to 1",
            "BLEU is reported from 0 to 100. Multiply by 100.",
            _bleu(top=1),
        ),
    ),
)
