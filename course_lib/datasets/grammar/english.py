"""English morphology: plurals, verb forms, comparatives, "a" or "an", and do-support."""

import re
from functools import cache

from course_lib.datasets.grammar.tables import rows

VOWELS = "aeiou"
MODALS = {"can": "can't", "must": "must not", "should": "shouldn't"}
# The order of persons everywhere: I, you, he/she/it, we, they.
BE = ("am", "are", "is", "are", "are")
WAS = ("was", "were", "was", "were", "were")


def _doubles(word: str) -> bool:
    """Whether the last consonant is doubled before -ed, -ing, -er: stop, big (one syllable, one vowel)."""
    return re.fullmatch(r"(qu|[^aeiou])*[aeiou][^aeiouwxy]", word) is not None


def plural(noun: str) -> str:
    """The regular plural: book, box, city, potato, tomato."""
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    if re.search(r"(s|x|z|ch|sh|tomato|potato)$", noun):
        return noun + "es"
    return noun + "s"


def article(word: str) -> str:
    """ "a" or "an", by the first sound of `word`: an egg, a uniform, an honest man."""
    if re.match(r"(hon|hour)", word):
        return "an"
    return "an" if word[0].lower() in VOWELS and not re.match(r"(uni|use|eu|one)", word) else "a"


def comparative(adjective: str) -> str:
    """The regular comparative: taller, bigger, happier, more modern."""
    if re.search(r"[^aeiou]y$", adjective):
        return adjective[:-1] + "ier"
    if len(re.findall(r"[aeiouy]+", re.sub(r"e$", "", adjective))) > 1:
        return "more " + adjective
    if _doubles(adjective):
        adjective += adjective[-1]
    return re.sub(r"e$", "", adjective) + "er"


def _third(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|x|z|ch|sh|o)$", word) else "s")


def _past(word: str) -> str:
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ied"
    return re.sub(r"e$", "", word + word[-1] if _doubles(word) else word) + "ed"


def _gerund(word: str) -> str:
    return re.sub(r"(?<!e)e$", "", word + word[-1] if _doubles(word) else word) + "ing"


@cache
def _irregular() -> dict[str, dict[str, str]]:
    return {row["base"]: row for row in rows("english_verbs")}


@cache
def form(verb: str, which: str) -> str:
    """Inflect a verb, or the first word of a phrasal verb ("looks for").

    which: "third", "past", "participle" or "gerund".
    """
    word, _, rest = verb.partition(" ")
    rules = {"third": _third, "past": _past, "participle": _past, "gerund": _gerund}
    found = _irregular().get(word, {}).get(which) or rules[which](word)
    return f"{found} {rest}" if rest else found


def _contract(auxiliary: str) -> str:
    return {"am": "am not", "will": "won't"}.get(auxiliary, auxiliary + "n't")


def _be(tense: str, person: int) -> tuple[str, str]:
    words = {
        "present": (BE[person], ""),
        "past": (WAS[person], ""),
        "future": ("will", "be"),
        "going to": (BE[person], "going to be"),
    }
    return words[tense]


def _compound(verb: str, tense: str, person: int) -> tuple[str, str]:
    words = {
        "progressive": (BE[person], form(verb, "gerund")),
        "past progressive": (WAS[person], form(verb, "gerund")),
        "perfect": ("has" if person == 2 else "have", form(verb, "participle")),
        "future": ("will", verb),
        "going to": (BE[person], f"going to {verb}"),
    }
    return words[tense]


@cache
def verb_group(verb: str, tense: str, person: int) -> tuple[str, str, str, str]:
    """Parts of a verb group: the auxiliary, its negative, the main verb after it, and the plain form.

    The plain form ("eats") is used in affirmative statements of tenses with do-support; else it is empty.
    """
    if verb in MODALS:
        return verb, MODALS[verb], "", ""
    if verb == "be":
        auxiliary, main = _be(tense, person)
        return auxiliary, _contract(auxiliary), main, ""
    if tense == "present":
        do = "does" if person == 2 else "do"
        return do, do + "n't", verb, form(verb, "third") if person == 2 else verb
    if tense == "past":
        return "did", "didn't", verb, form(verb, "past")
    if tense == "used to":
        return "did", "didn't", f"use to {verb}", f"used to {verb}"
    auxiliary, main = _compound(verb, tense, person)
    return auxiliary, _contract(auxiliary), main, ""
