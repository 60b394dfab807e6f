"""Random subjects and objects: who does something, and to whom or what."""

from functools import cache

from course_lib.datasets.grammar.clauses import Predicate
from course_lib.datasets.grammar.lexicon import Adjective, Noun, Verb, describing, of_kind, places
from course_lib.datasets.grammar.phrases import (
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

# Pronoun subjects, repeated by weight: I, you and we are frequent because they have their own verb forms.
SUBJECTS = tuple(PRONOUNS[place] for place in (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4, 5))
PEOPLE = {"person", "kin", "parent"}
NAMELESS = {"language", "sport", "subject", "sound", "money"}
OWNED = {"homework", "rent", "celebration"}
QUANTITIES = ("some", "many", "several", "all the", "two", "three", "four", "five", "six", "ten")


def subject(dice: Dice, kinds: tuple[str, ...] = ("person",), pronouns: float = 0.7) -> Phrase:
    """Draw a subject of one of these kinds: a pronoun with this probability, else a person or an animal."""
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
    """Adjectives for lasting qualities, or for how drinks are served."""
    return tuple(one for one in describing(noun, "before") if one.copula == "ser" or "drink" in one.kinds)


def thing(dice: Dice, noun: Noun, owner: Phrase, style: str = "open") -> Phrase:
    """Draw a noun phrase for an object.

    style: "general" is a whole kind ("bread", "red shoes"), "fixed" a particular thing ("the book", "my
    book"), "open" also an indefinite number of things ("a book", "three books").
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
    """The determiner of a noun that allows only one ("-" for none): the moon, English, my homework."""
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
    """Draw a determiner."""
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
    """Whether two pronouns may refer to the same people, which rules out "I see us"."""
    return {one.person, other.person} in ({0}, {1}, {3}, {4}, {0, 3}, {1, 3})


def pronoun_object(dice: Dice, verb: Verb, doer: Phrase) -> Predicate | None:
    """The verb with a pronoun: in Spanish before the verb, or after the verb's preposition."""
    pronoun, link, state = dice.pick(PRONOUNS), verb.spanish_link, verb.past == "state"
    if overlap(pronoun, doer):
        return None
    if link:
        strong = WITH.get(pronoun.english) if link == "con" else None
        tail = pronoun.object, strong or f"{link} {pronoun.strong}"
        return Predicate(verb.english, verb.spanish, *tail, state=state)
    return Predicate(verb.english, verb.spanish, pronoun.object, "", pronoun.clitic, state)


def _person_object(dice: Dice, verb: Verb, kind: str, doer: Phrase, tense: str) -> Predicate | None:
    """A person as the object: a pronoun, or a noun with the personal "a" or the verb's preposition."""
    if (tense != "going to" or verb.spanish_link) and dice.chance(0.35):
        return pronoun_object(dice, verb, doer)
    found = human(dice, (kind,))
    if found.english.split()[-1] in doer.english.split():
        return None
    tail = found.english, f"{verb.spanish_link or 'a'} {found.spanish}"
    return Predicate(verb.english, verb.spanish, *tail, state=verb.past == "state")


def with_object(dice: Dice, verb: Verb, doer: Phrase, style: str, tense: str) -> Predicate | None:
    """Draw an object of one of the verb's kinds; None if it makes no sense. style: as in `thing`."""
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
