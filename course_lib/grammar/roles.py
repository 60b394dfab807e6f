"""Subjects and objects chosen by the dice: who does it, and to whom or what."""

from functools import cache

from course_lib.grammar.clauses import Predicate
from course_lib.grammar.lexicon import Adjective, Noun, Verb, describing, of_kind, places
from course_lib.grammar.phrases import (
    PRONOUNS,
    WITH,
    Dice,
    Phrase,
    both,
    human,
    join,
    names,
    noun_phrase,
    place_phrase,
    possessed,
)

# Pronoun subjects, each as often as it should be chosen: I, you and we have verb forms of their own.
SUBJECTS = tuple(PRONOUNS[place] for place in (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4, 5))
PEOPLE = {"person", "kin", "parent"}
NAMELESS = {"language", "sport", "subject", "sound", "money"}
OWNED = {"homework", "rent", "celebration"}
QUANTITIES = ("some", "many", "several", "all the", "two", "three", "four", "five", "six", "ten")


def subject(dice: Dice, kinds: tuple[str, ...] = ("person",), pronouns: float = 0.7) -> Phrase:
    """A subject of one of the kinds: a pronoun with the given probability, else a person or an animal."""
    kind = dice.pick(kinds)
    if kind not in ("person", "man", "woman"):
        return noun_phrase(*_creature(dice, dice.pick(of_kind(kind))))
    if dice.chance(pronouns):
        found = dice.pick(SUBJECTS)
    elif dice.chance(0.12):
        first, second = dice.pick(names()), dice.pick((*names(), *PRONOUNS[:1] * 4))
        found = both(first, second) if first != second else first
    else:
        found = human(dice, (kind,))
    if kind == "man" and (found.gender == "f" or found.many):
        return PRONOUNS[2]
    if kind == "woman" and (found.gender == "m" or found.many):
        return PRONOUNS[3]
    return found


def _creature(dice: Dice, noun: Noun) -> tuple[str, Noun, bool]:
    many = dice.chance(0.35)
    words = ("the", "the", "these" if many else "this")
    return dice.pick(words + ("my", "your", "our") if "pet" in noun.kinds else words), noun, many


@cache
def _ornaments(noun: Noun) -> tuple[Adjective, ...]:
    """Adjectives that name a lasting quality, or how food and drink are served."""
    return tuple(one for one in describing(noun, "before") if one.copula == "ser" or "drink" in one.kinds)


def thing(dice: Dice, noun: Noun, owner: Phrase, style: str = "open") -> Phrase:
    """A noun phrase for an object.

    style: "general" means the kind as such ("bread", "red shoes"), "fixed" a particular one ("the book", "my
    book"), "open" also one or more out of many ("a book", "three books").
    """
    if word := _only_word(noun, owner):
        return noun_phrase(word.removeprefix("-"), noun)
    ornaments, kinds = _ornaments(noun), set(noun.kinds)
    adjective = dice.pick(ornaments) if ornaments and dice.chance(0.22) else None
    one = noun.count != "count" or "place" in kinds
    each = owner.many and "clothes" in kinds  # we wear our hats
    many = noun.count == "plural" or "pairs" in kinds or each or (not one and dice.chance(0.4))
    if style == "general":
        return noun_phrase("", noun, noun.count != "mass", adjective)
    if "portable" in kinds and dice.chance(0.08):
        return possessed(dice.pick(names()), noun, many)
    return noun_phrase(_word(dice, noun, owner, many, style), noun, many, adjective)


def _only_word(noun: Noun, owner: Phrase) -> str:
    """The determiner of a noun that takes just one ("-" for none): the moon, English, my homework."""
    kinds = set(noun.kinds)
    if noun.count == "single":
        return "the"
    if NAMELESS & kinds:
        return "-"
    if OWNED & kinds:
        return _own(noun, owner)
    return "generic" if "meal" in kinds else ""


def _own(noun: Noun, owner: Phrase) -> str:
    return "the" if owner.own == "its" or "common" in noun.kinds else owner.own


def _word(dice: Dice, noun: Noun, owner: Phrase, many: bool, style: str) -> str:
    """A determiner for a particular thing."""
    own = _own(noun, owner)
    others = ("the",) if "common" in noun.kinds else ("my", "your", "our")
    if noun.count == "mass":
        return dice.pick(("the", "the", own) if style == "fixed" else ("the", "", "", own))
    if many:
        fixed = ("the", "the", "these", "those", own, own, dice.pick(others))
        return dice.pick(fixed if style == "fixed" or noun.count == "plural" else (*fixed, *QUANTITIES))
    fixed = ("the", "the", "the", own, own, "this", "that", dice.pick(others))
    return dice.pick(fixed if style == "fixed" else (*fixed, "a", "a", "a", "another"))


def overlap(one: Phrase, other: Phrase) -> bool:
    """Whether two pronouns may mean the same people: "I see us" is not said."""
    return {one.person, other.person} in ({0}, {1}, {3}, {4}, {0, 3}, {1, 3})


def pronoun_object(dice: Dice, verb: Verb, doer: Phrase) -> Predicate | None:
    """The verb with a pronoun: before the verb in Spanish, or after the verb's own preposition."""
    pronoun, link, state = dice.pick(PRONOUNS), verb.spanish_link, verb.past == "state"
    if overlap(pronoun, doer):
        return None
    if link:
        strong = WITH.get(pronoun.english) if link == "con" else None
        tail = pronoun.object, strong or f"{link} {pronoun.strong}"
        return Predicate(verb.english, verb.spanish, *tail, state=state)
    return Predicate(verb.english, verb.spanish, pronoun.object, "", pronoun.clitic, state)


def _person_object(dice: Dice, verb: Verb, kind: str, doer: Phrase, tense: str) -> Predicate | None:
    """A person as object: a pronoun, or a noun with the personal "a" or the verb's own preposition."""
    if (tense != "going to" or verb.spanish_link) and dice.chance(0.35):
        return pronoun_object(dice, verb, doer)
    found = human(dice, (kind,))
    if found.english.split()[-1] in doer.english.split():
        return None
    tail = found.english, f"{verb.spanish_link or 'a'} {found.spanish}"
    return Predicate(verb.english, verb.spanish, *tail, state=verb.past == "state")


def with_object(dice: Dice, verb: Verb, doer: Phrase, style: str, tense: str) -> Predicate | None:
    """The verb with an object of one of its kinds; None after a bad throw. style: as in `thing`."""
    kind = dice.pick(verb.object)
    if kind in PEOPLE:
        return _person_object(dice, verb, kind, doer, tense)
    base = Predicate(verb.english, verb.spanish, state=verb.past == "state")
    if kind in ("city", "country") or verb.english_link:
        en, es = place_phrase(dice.pick(places(kind)), verb.english_link)
        return base.longer(en, join(verb.spanish_link, es))
    noun = dice.pick(of_kind(kind))
    if verb.article:
        found = noun_phrase(verb.article, noun, verb.article == "generic" and noun.count == "count")
    else:
        found = thing(dice, noun, doer, style)
    return base.longer(found.english, join(verb.spanish_link, found.spanish))
