"""Sentence patterns: states of people and things (qualities, comparisons, professions, owners)."""

from functools import cache

from course_lib.datasets.grammar import english, spanish
from course_lib.datasets.grammar.clauses import (
    MOODS,
    QUESTION,
    Pair,
    Predicate,
    Shape,
    asks_self,
    clause,
    finished,
    mark,
)
from course_lib.datasets.grammar.lexicon import Adjective, Noun, adjectives, describing, of_kind, places
from course_lib.datasets.grammar.phrases import (
    PRONOUNS,
    Dice,
    Phrase,
    determiner,
    human,
    join,
    names,
    noun_phrase,
    place_phrase,
    possessed,
    professions,
)
from course_lib.datasets.grammar.roles import subject

COPULA_TENSES = ("present", "present", "present", "past", "past", "future", "going to")


def described(adjective: Adjective, who: Phrase) -> str:
    """The Spanish adjective, in agreement with a phrase."""
    return spanish.agree(adjective.spanish, adjective.feminine, adjective.plural, who.gender, who.many)


@cache
def of_people(copula: str) -> tuple[Adjective, ...]:
    """All adjectives for people that take this copula, ser or estar."""
    return tuple(one for one in adjectives() if one.copula == copula and "person" in one.kinds)


def topic(dice: Dice, noun: Noun) -> Phrase:
    """Draw a phrase for a thing or an animal."""
    one = noun.count != "count" or {"place", "meal"} & set(noun.kinds)
    many = noun.count == "plural" or (not one and dice.chance(0.35))
    demonstratives = ("these", "those") if many else ("this", "that")
    words = ("the", "the", dice.pick(demonstratives))
    if "common" not in noun.kinds and noun.count != "single":
        words += ("my", "your", dice.pick(("his", "her", "our", "their")))
    if noun.count == "single":
        words = ("the",)
    return noun_phrase(dice.pick(words), noun, many)


def one_quality(dice: Dice) -> tuple[Phrase, Adjective]:
    """Draw someone or something, and an adjective that fits."""
    adjective = dice.pick(adjectives())
    kind = dice.pick(adjective.kinds)
    who = subject(dice, (kind,)) if kind in ("person", "man") else topic(dice, dice.pick(of_kind(kind)))
    return who, adjective


def being(adjective: Adjective, who: Phrase, degree: Pair = ("", "")) -> Predicate:
    """The predicate "be" with an adjective, and its degree ("very") if given."""
    return Predicate(
        "be",
        adjective.copula,
        join(degree[0], adjective.english),
        join(degree[1], described(adjective, who)),
        state=True,
    )


def quality(dice: Dice) -> Pair | None:
    """ "Ana is tall.", "The soup isn't very hot.", "Are you tired?" """
    who, adjective = one_quality(dice)
    mood, tense = dice.pick(MOODS), dice.pick(COPULA_TENSES)
    if asks_self(mood, who) or (adjective.copula == "ser" and tense in ("future", "going to")):
        return None
    degree = ("", "")
    if adjective.graded and dice.chance(0.35):
        degree = dice.pick((("very", "muy"), ("very", "muy"), ("too", "demasiado")))
    return finished(*clause(who, being(adjective, who, degree), Shape(tense, mood)), mark(mood))


def two_qualities(dice: Dice) -> Pair | None:
    """ "Ana is tall and strong.", "We are tired but happy." """
    copula = dice.pick(("ser", "estar"))
    who, first, second = subject(dice), dice.pick(of_people(copula)), dice.pick(of_people(copula))
    if first.english[0].isupper() or second.english[0].isupper() or first == second or not second.graded:
        return None
    contrast = {first.tone, second.tone} == {"good", "bad"}
    link = ("but", "pero") if contrast else ("and", "y")
    said = being(first, who).longer(*link).longer(second.english, described(second, who))
    return finished(*clause(who, said, Shape(dice.pick(("present", "past")))))


def comparison(dice: Dice) -> Pair | None:
    """ "Ana is taller than Pedro.", "This car is as fast as that car." """
    adjective = dice.pick([one for one in adjectives() if one.graded and one.copula == "ser"])
    kinds = [kind for kind in adjective.kinds if kind not in ("person", "man", "place")]
    if {"person", "man"} & set(adjective.kinds) and (not kinds or dice.chance(0.6)):
        who = ("man",) if "man" in adjective.kinds else ("person",)
        first, second = subject(dice, who), subject(dice, who)
    elif adjective in describing(noun := dice.pick(of_kind(kind := dice.pick(kinds))), "after"):
        first, second = topic(dice, noun), topic(dice, dice.pick(of_kind(kind)))
    if first.english == second.english or {first.person, second.person} in ({3}, {0, 3}, {1, 3}):
        return None
    en, es = _compared(dice, adjective, first)
    other = {"mí": "yo", "ti": "tú"}.get(second.strong, second.strong) or second.spanish
    said = Predicate("be", "ser", join(en, second.object or second.english), join(es, other), state=True)
    mood = dice.pick(MOODS)
    if second.english.endswith(" I"):  # "than Ana and I" sounds bookish
        return None
    if asks_self(mood, first) or (first.noun is not None and first.noun == second.noun):
        return None
    return finished(*clause(first, said, Shape(mood=mood)), mark(mood))


def _compared(dice: Dice, adjective: Adjective, who: Phrase) -> Pair:
    form = described(adjective, who)
    if dice.chance(0.35):
        return f"as {adjective.english} as", f"tan {form} como"
    if adjective.spanish_comparative:
        better = spanish.agree(adjective.spanish_comparative, "", "", "m", who.many)
        return f"{adjective.comparative} than", f"{better} que"
    if adjective.comparative.startswith("more") and dice.chance(0.3):
        return f"less {adjective.english} than", f"menos {form} que"
    return f"{adjective.comparative} than", f"más {form} que"


def profession(dice: Dice) -> Pair | None:
    """ "Ana is a doctor.": "Ana es doctora." """
    who, (en, masculine, feminine) = subject(dice), dice.pick(professions())
    mood, tense = dice.pick(MOODS), dice.pick(("present", "present", "past"))
    if (
        asks_self(mood, who)
        or (who.many and who.gender == "f")
        or (who.noun and {"job", "child", "visitor"} & set(who.noun.kinds))
    ):
        return None
    form = feminine if who.gender == "f" else masculine
    if who.many:
        said = Predicate("be", "ser", english.plural(en), spanish.plural(form), state=True)
    else:
        said = Predicate("be", "ser", f"{english.article(en)} {en}", form, state=True)
    return finished(*clause(who, said, Shape(tense, mood)), mark(mood))


def kinship(dice: Dice) -> Pair | None:
    """ "Ana is my sister.", "He isn't our neighbor." """
    who, noun = subject(dice), dice.pick(of_kind("kin", "parent"))
    mood = dice.pick(MOODS)
    if who.many or who.noun or who.person != 2 or noun.gender != who.gender:
        return None
    owners = (
        ("your", "his", "her", "their") if mood == QUESTION else ("my", "your", "our", "his", "her", "their")
    )
    other = noun_phrase(dice.pick(owners), noun)
    said = Predicate("be", "ser", other.english, other.spanish, state=True)
    return finished(*clause(who, said, Shape(mood=mood)), mark(mood))


@cache
def _possessions() -> tuple[Noun, ...]:
    found = of_kind("portable", "clothes", "vehicle", "pet", "furniture", "readable")
    return tuple(noun for noun in found if "common" not in noun.kinds)


def _possession(dice: Dice) -> tuple[Noun, bool]:
    """Draw something that can belong to someone, and whether it is plural."""
    noun = dice.pick(_possessions())
    return noun, noun.count == "plural" or "pairs" in noun.kinds or dice.chance(0.4)


def this_is(dice: Dice) -> Pair | None:
    """ "This is my book.", "Those aren't Ana's shoes." """
    noun, many = _possession(dice)
    word = dice.pick((("this", "these"), ("that", "those")))[many]
    if dice.chance(0.35):
        what = possessed(dice.pick(names()), noun, many)
    else:
        what = noun_phrase(dice.pick(("my", "your", "his", "her", "our", "their")), noun, many)
    pointed = Phrase(word, determiner(word, noun.gender, many), 4 if many else 2)
    mood = dice.pick(MOODS)
    said = Predicate("be", "ser", what.english, what.spanish, state=True)
    return finished(*clause(pointed, said, Shape(mood=mood)), mark(mood))


OWNERS = (("mine", "mío"), ("yours", "tuyo"), ("ours", "nuestro"))


def belonging(dice: Dice) -> Pair | None:
    """ "This book is mine.", "The letter is for Ana." """
    noun, many = _possession(dice)
    what = noun_phrase(
        dice.pick(("the", "these" if many else "this", "those" if many else "that")), noun, many
    )
    if dice.chance(0.5):
        en, es = dice.pick(OWNERS)
        said = Predicate("be", "ser", en, spanish.agree(es, "", "", what.gender, what.many), state=True)
    else:
        whom = dice.pick(PRONOUNS) if dice.chance(0.5) else human(dice)
        said = Predicate(
            "be", "ser", f"for {whom.object or whom.english}", f"para {whom.strong or whom.spanish}"
        )
    mood = dice.pick(MOODS)
    return finished(*clause(what, said, Shape(mood=mood)), mark(mood))


def origin(dice: Dice) -> Pair | None:
    """ "Ana is from Mexico." """
    who, place = subject(dice), dice.pick(places("city", "country"))
    mood = dice.pick(MOODS)
    if asks_self(mood, who):
        return None
    en, es = place_phrase(place, "")
    said = Predicate("be", "ser", f"from {en}", f"de {es}")
    return finished(*clause(who, said, Shape(mood=mood)), mark(mood))
