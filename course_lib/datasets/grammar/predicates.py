"""Random predicates: a verb with an object, a place, a manner and a time that fit."""

from functools import cache

from course_lib.datasets.grammar.clauses import Pair, Predicate
from course_lib.datasets.grammar.lexicon import Verb, adverbials, places, verbs
from course_lib.datasets.grammar.phrases import PRONOUNS, WITH, Dice, Phrase, human, place_phrase
from course_lib.datasets.grammar.roles import overlap, subject, with_object

# For each tense: the letter in the column `uses` that allows it, and its weight in random draws.
TENSES = {
    "present": ("P", 8),
    "past": ("D", 8),
    "progressive": ("G", 2),
    "past progressive": ("G", 1),
    "perfect": ("H", 3),
    "future": ("F", 8),
    "going to": ("T", 2),
    "used to": ("U", 8),
}
TIMES = {
    "present": "habit",
    "used to": "habit",
    "past": "past",
    "progressive": "moment",
    "perfect": "perfect",
    "future": "future",
    "going to": "future",
}
NEAR = {"habit", "past", "future"}  # times with separate adverbials for daily activities


@cache
def tenses(verb: Verb) -> tuple[str, ...]:
    """The tenses that a verb allows, repeated by weight."""
    return tuple(
        tense for tense, (letter, weight) in TENSES.items() if letter in verb.uses for _ in range(weight)
    )


@cache
def verbs_with(letter: str) -> tuple[Verb, ...]:
    """All verbs with this letter in the column `uses`."""
    return tuple(verb for verb in verbs() if letter in verb.uses)


@cache
def busy_verbs() -> tuple[Verb, ...]:
    """All verbs, repeated by weight: more often if they have a future or an imperfect, which adds forms."""
    return tuple(verb for verb in verbs() for _ in range(2 + ("F" in verb.uses) + ("U" in verb.uses)))


def predicate(
    dice: Dice, verb: Verb, doer: Phrase, tense: str, style: str = "open", extras: float = 1.0
) -> Predicate | None:
    """Draw the rest of the predicate: an object, perhaps a manner or a place; None if it makes no sense.

    style: of the object, "open" or "fixed"; a habit concerns one particular thing or a kind of thing.
    extras: scales the probability of manner and place; 0 means never.
    """
    found = Predicate(verb.english, verb.spanish, state=verb.past == "state")
    if verb.object:
        if tense in ("present", "used to"):
            style = {"kind": "general", "any": "fixed"}.get(verb.habit, style)
        found = with_object(dice, verb, doer, style, tense)
    if found is None:
        return None
    if verb.manner and dice.chance(0.45 * extras):
        manner = dice.pick(verb.manner)
        if (manner == "bit" and style == "fixed") or (manner == "season" and TIMES.get(tense) != "habit"):
            return None
        en, es, _ = dice.pick(adverbials(manner))
        if en == "badly" and style == "fixed":
            return None
        found = found.longer(en, es)
    elif verb.places and dice.chance((0.3 if verb.object else 0.6) * extras):
        en, es = place_phrase(dice.pick(places(dice.pick(verb.places))), "at")
        found = found.longer(en, f"en {es}")
    elif "C" in verb.uses and doer.person != 3 and dice.chance(0.3 * extras):
        return _with_company(dice, found, doer)
    return found


def _with_company(dice: Dice, base: Predicate, doer: Phrase) -> Predicate | None:
    if dice.chance(0.4):
        pronoun = dice.pick(PRONOUNS)
        if overlap(pronoun, doer):
            return None
        return base.longer(f"with {pronoun.object}", WITH.get(pronoun.english) or f"con {pronoun.strong}")
    found = human(dice)
    if found.english.split()[-1] in doer.english.split():
        return None
    return base.longer(f"with {found.english}", f"con {found.spanish}")


def time(dice: Dice, verb: Verb, tense: str) -> tuple[str, str, bool] | None:
    """Draw a time adverbial that fits the tense; None if there is none."""
    if tense not in TIMES or verb.past == "state" or (verb.habit == "none" and TIMES[tense] == "habit"):
        return None
    daily = verb.spanish.endswith("se") or verb.english.startswith(
        "have "
    )  # nobody says "I shaved last year"
    return dice.pick(adverbials(f"near_{TIMES[tense]}" if daily and TIMES[tense] in NEAR else TIMES[tense]))


def timed(dice: Dice, verb: Verb, tense: str, said: Predicate) -> tuple[Predicate, Pair]:
    """The predicate with a time at its end, or a time to open the sentence with."""
    found = time(dice, verb, tense)
    dated = said.english_tail.endswith(("early", "late", "summer", "winter"))
    if found is None or dated or dice.chance(0.45):
        return said, ("", "")
    if found[2] and dice.chance(0.2):
        return said, found[:2]
    return said.longer(*found[:2]), ("", "")


def scene(dice: Dice, style: str, extras: float = 1.0) -> tuple[Verb, Phrase, str, Predicate | None]:
    """Draw a verb, a subject, a tense and a predicate; the predicate is None if it makes no sense."""
    verb = dice.pick(busy_verbs())
    doer, tense = subject(dice, verb.subject), dice.pick(tenses(verb))
    return verb, doer, tense, predicate(dice, verb, doer, tense, style, extras)
