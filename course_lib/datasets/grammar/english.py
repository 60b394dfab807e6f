"""English morphology: plurals, verb forms, comparatives, "a" or "an", and do-support."""

import re
from functools import cache

from course_lib.datasets.grammar.tables import rows

MODALS = {"can": "can't", "must": "must not", "should": "shouldn't", "would": "wouldn't"}
# The order of persons everywhere: I, you, he/she/it, we, they.
BE = ("am", "are", "is", "are", "are")
WAS = ("was", "were", "was", "were", "were")


def _double(word: str) -> str:
    """Double the last consonant before -ed, -ing, -er: stop, big (one syllable, one vowel)."""
    return word + word[-1] if re.fullmatch(r"(qu|[^aeiou])*[aeiou][^aeiouwxy]", word) else word


def _suffixed(word: str, suffix: str) -> str:
    """Add -ed or -er: carried, happier, bigger, nicer."""
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "i" + suffix
    return re.sub(r"e$", "", _double(word)) + suffix


def _with_s(word: str, sibilants: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(f"({sibilants})$", word) else "s")


def plural(noun: str) -> str:
    """The regular plural: book, box, city, potato, tomato."""
    return _with_s(noun, "s|x|z|ch|sh|tomato|potato")


def article(word: str) -> str:
    """ "a" or "an", by the first sound of `word`: an egg, a uniform, an honest man."""
    return "an" if re.match(r"hon|hour|(?!uni|use|eu|one)[aeiou]", word, re.IGNORECASE) else "a"


def comparative(adjective: str) -> str:
    """The regular comparative: taller, bigger, happier, more modern."""
    syllables = re.findall(r"[aeiouy]+", re.sub(r"e$", "", adjective))
    if len(syllables) > 1 and not re.search(r"[^aeiou]y$", adjective):
        return "more " + adjective
    return _suffixed(adjective, "er")


@cache
def _irregular() -> dict[str, dict[str, str]]:
    return {row["base"]: row for row in rows("english_verbs")}


def _regular(verb: str, which: str) -> str:
    if which == "third":
        return _with_s(verb, "s|x|z|ch|sh|o")
    return re.sub(r"(?<!e)e$", "", _double(verb)) + "ing" if which == "gerund" else _suffixed(verb, "ed")


@cache
def form(verb: str, which: str) -> str:
    """The "third", "past", "participle" or "gerund" of a verb, or of the first word of "look for"."""
    word, space, rest = verb.partition(" ")
    return (_irregular().get(word, {}).get(which) or _regular(word, which)) + space + rest


def _auxiliary(verb: str, tense: str, person: int) -> tuple[str, str]:
    """The auxiliary and the main verb after it; "be" itself is the auxiliary of its present and past."""
    forms = {
        "present": (BE[person], ""),
        "past": (WAS[person], ""),
        "progressive": (BE[person], form(verb, "gerund")),
        "past progressive": (WAS[person], form(verb, "gerund")),
        "perfect": ("has" if person == 2 else "have", form(verb, "participle")),
        "future": ("will", verb),
        "going to": (BE[person], f"going to {verb}"),
    }
    return forms[tense]


@cache
def verb_group(verb: str, tense: str, person: int) -> tuple[str, str, str, str]:
    """The auxiliary, its negative, the main verb, and the form without do-support ("eats") or ""."""
    if verb in MODALS:
        return verb, MODALS[verb], "", ""
    if tense == "used to":
        return "did", "didn't", f"use to {verb}", f"used to {verb}"
    if tense == "past" and verb != "be":
        return "did", "didn't", verb, form(verb, "past")
    if tense == "present" and verb != "be":
        return ("does", "doesn't", verb, form(verb, "third")) if person == 2 else ("do", "don't", verb, verb)
    auxiliary, main = _auxiliary(verb, tense, person)
    return auxiliary, {"am": "am not", "will": "won't"}.get(auxiliary, auxiliary + "n't"), main, ""
