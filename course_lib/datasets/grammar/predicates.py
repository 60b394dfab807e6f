"""Random subjects and predicates: who does what, and an object, a place, a manner and a time that fit."""

from functools import cache

from course_lib.datasets.grammar import phrases
from course_lib.datasets.grammar.clauses import Predicate, bare
from course_lib.datasets.grammar.english import form
from course_lib.datasets.grammar.lexicon import Entry, Noun, describing, entries
from course_lib.datasets.grammar.phrases import NOTHING, PRONOUNS, Dice, Pair, Phrase, noun_phrase, require

ME, YOU, HE, SHE, WE, THEY = PRONOUNS
# Pronoun subjects, repeated by weight: I, you and we are frequent because they have their own verb forms.
SUBJECTS = (*[ME] * 4, *[YOU] * 4, *[HE] * 2, *[SHE] * 2, *[WE] * 4, THEY)
PEOPLE = {"person", "kin", "parent"}
ONLY = {"language": "", "sport": "", "subject": "", "money": "", "sound": "", "meal": "generic", "sky": "the"}
OWNED = {"homework", "rent", "celebration"}  # nouns that always take the possessive: my homework
HABITS = {"kind": "general", "any": "fixed", "none": "open"}  # what a habit concerns: the style of the object
QUANTITIES = ("some", "many", "several", "all the", "two", "three", "four", "five", "six", "ten")


def subject(dice: Dice, kinds: tuple[str, ...] = ("person",)) -> Phrase:
    """Draw a subject of one of these kinds: a pronoun, a person, two people or an animal."""
    kind = dice.pick(kinds)
    if kind in ("man", "woman"):
        return dice.pick((HE if kind == "man" else SHE, phrases.human(dice, kind)))
    if kind != "person":
        many = dice.chance(0.35)
        return noun_phrase(dice.pick(("the", "the", *phrases.pointing(many))), dice.noun(kind), many)
    if dice.chance(0.7):
        return dice.pick(SUBJECTS)
    if dice.chance(0.12):
        first, second = dice.pick(phrases.names()), dice.pick((*phrases.names(), ME))
        return phrases.both(first, second) if first != second else first
    return phrases.human(dice)


def other_pronoun(dice: Dice, doer: Phrase) -> Phrase:
    """Draw a pronoun for somebody else than the subject, which rules out "I see us"."""
    found = dice.pick(PRONOUNS)
    require({found.person, doer.person} not in ({0}, {1}, {3}, {4}, {0, 3}, {1, 3}))
    return found


def other_human(dice: Dice, doer: Phrase) -> Phrase:
    """Draw a person other than the subject."""
    found = phrases.human(dice)
    require(found.english.split()[-1] not in doer.english.split())
    return found


def thing(dice: Dice, noun: Noun, owner: Phrase, style: str = "open") -> Phrase:
    """Draw a noun phrase for an object.

    style: "general" is a whole kind ("bread", "red shoes"), "fixed" a particular thing ("the book", "my
    book"), "open" also an indefinite number of things ("a book", "three books").
    """
    kinds, mass = set(noun.kinds), noun.count == "mass"
    own = "the" if "common" in kinds or owner.own == "its" else owner.own
    if only := [ONLY[kind] for kind in noun.kinds if kind in ONLY]:
        return noun_phrase(only[0], noun)
    if noun.count == "single" or OWNED & kinds:
        return noun_phrase(own, noun)
    several = "pairs" in kinds or (owner.many and "clothes" in kinds)  # we wear our hats
    many = noun.count == "plural" or several or not (mass or "place" in kinds or dice.chance(0.6))
    adjective = dice.pick(describing(noun)) if describing(noun) and dice.chance(0.2) else None
    if style == "general":
        return noun_phrase("", noun, not mass, adjective)
    words = ("the", "the", own) if mass else ("the", "the", own, own, *phrases.pointing(many))
    if style == "open" and noun.count != "plural":
        words += ("", "") if mass else QUANTITIES if many else ("a", "a", "a", "another")
    return noun_phrase(dice.pick(words), noun, many, adjective)


def somebody(dice: Dice, doer: Phrase) -> Phrase:
    """Draw a person other than the subject, by a pronoun or in words."""
    return other_pronoun(dice, doer) if dice.chance(0.4) else other_human(dice, doer)


def pronoun_object(dice: Dice, verb: Entry, doer: Phrase) -> Predicate:
    """The verb with a pronoun: in Spanish before the verb, or after the verb's preposition."""
    pronoun = other_pronoun(dice, doer)
    if verb.spanish_link:
        return bare(verb, pronoun.object, phrases.prepositional(verb.spanish_link, pronoun))
    return bare(verb, pronoun.object, "", pronoun.clitic)


def _with_object(dice: Dice, verb: Entry, doer: Phrase, style: str) -> Predicate:
    """Draw an object of one of the verb's kinds; people take the personal "a" or the verb's preposition."""
    kind, link = dice.pick(verb.object), verb.spanish_link
    if kind in PEOPLE:
        if dice.chance(0.35):
            return pronoun_object(dice, verb, doer)
        found = other_human(dice, doer) if kind == "person" else noun_phrase(doer.own, dice.noun(kind))
        link = link or "a"
    elif kind in ("city", "country") or verb.english_link:
        en, es = phrases.place_phrase(dice.entry("places nouns", kind), verb.english_link)
        return bare(verb, en, phrases.join(link, es))
    elif verb.article:
        noun = dice.noun(kind)
        found = noun_phrase(verb.article, noun, verb.article == "generic" and noun.count == "count")
    else:
        found = thing(dice, dice.noun(kind), doer, style)
    return bare(verb, found.english, phrases.join(link, found.spanish))


@cache
def tenses(verb: Entry) -> tuple[Entry, ...]:
    """The tenses that a verb allows, repeated by weight."""
    return tuple(one for one in entries("tenses") if one.use in verb.uses for _ in range(int(one.weight)))


@cache
def verbs_with(letter: str) -> tuple[Entry, ...]:
    """All verbs with this letter in the column `uses`."""
    return tuple(verb for verb in entries("verbs") if letter in verb.uses)


def predicate(dice: Dice, verb: Entry, doer: Phrase, style: str = "open", extras: float = 1.0) -> Predicate:
    """Draw an object, and perhaps a manner, a place or company, whose probabilities `extras` scales."""
    found = _with_object(dice, verb, doer, style) if verb.object else bare(verb)
    if verb.manner and dice.chance(0.4 * extras):
        return found.longer(*dice.words("adverbials", *verb.manner))
    if verb.places and dice.chance((0.3 if verb.object else 0.6) * extras):
        return found.longer(*phrases.location(dice, *verb.places))
    if "C" in verb.uses and dice.chance(0.3 * extras):
        return found.longer(*_company(dice, doer))
    return found


def _company(dice: Dice, doer: Phrase) -> Pair:
    """Draw "with" somebody."""
    found = somebody(dice, doer)
    if found.clitic:
        return f"with {found.object}", phrases.prepositional("con", found)
    return f"with {found.english}", f"con {found.spanish}"


def timed(dice: Dice, verb: Entry, tense: Entry, said: Predicate) -> tuple[Predicate, Pair]:
    """Perhaps add a time that fits the tense: at the end of the predicate, or to open the sentence with."""
    lasting = verb.past == "state" or (verb.habit == "none" and tense.time == "habit")
    if not tense.time or lasting or dice.chance(0.45):
        return said, NOTHING
    kinds = (tense.time, f"far_{tense.time}") if "Y" in verb.uses else (tense.time,)
    when = dice.entry("adverbials", *kinds)
    if when.front == "yes" and dice.chance(0.2):
        return said, (when.english, when.spanish)
    return said.longer(when.english, when.spanish), NOTHING


def scene(dice: Dice, style: str, extras: float = 1.0) -> tuple[Entry, Phrase, Entry, Predicate]:
    """Draw a verb, a subject, a tense and a predicate.

    style: of the object, except in a habit, where the verb decides. Rejects the present of verbs whose past
    looks the same ("I read"), so that each English sentence has one translation.
    """
    verb = dice.entry("verbs")
    doer, tense = subject(dice, verb.subject), dice.pick(tenses(verb))
    require(tense.english != "present" or doer.person == 2 or form(verb.english, "past") != verb.english)
    style = {"habit": HABITS[verb.habit], "perfect": "fixed"}.get(tense.time, style)
    return verb, doer, tense, predicate(dice, verb, doer, style, extras)
