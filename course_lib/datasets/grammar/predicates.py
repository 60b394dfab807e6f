"""Random subjects and predicates: who does what, and an object, a place, a manner and a time that fit."""

from functools import cache

from course_lib.datasets.grammar import phrases
from course_lib.datasets.grammar.clauses import NOTHING, Pair, Predicate, bare
from course_lib.datasets.grammar.lexicon import Adjective, Noun, Verb, adverbials, describing, places, verbs
from course_lib.datasets.grammar.phrases import PRONOUNS, Dice, Phrase, human, names, noun_phrase, require
from course_lib.datasets.grammar.tables import rows

# Pronoun subjects, repeated by weight: I, you and we are frequent because they have their own verb forms.
SUBJECTS = tuple(PRONOUNS[place] for place in (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4, 5))
PEOPLE = {"person", "kin", "parent"}
NAMELESS = {"language", "sport", "subject", "sound", "money"}
OWNED = {"homework", "rent", "celebration"}
QUANTITIES = ("some", "many", "several", "all the", "two", "three", "four", "five", "six", "ten")
DATED = ("early", "late", "summer", "winter")
NEAR = {"habit", "past", "future"}  # times with separate adverbials for daily activities


def subject(dice: Dice, kinds: tuple[str, ...] = ("person",)) -> Phrase:
    """Draw a subject of one of these kinds: a pronoun, a person, two people or an animal."""
    kind = dice.pick(kinds)
    if kind not in ("person", "man", "woman"):
        return _animal(dice, dice.noun(kind))
    if dice.chance(0.7):
        found = dice.pick(SUBJECTS)
    elif dice.chance(0.12):
        first, second = dice.pick(names()), dice.pick((*names(), *PRONOUNS[:1] * 4))
        found = phrases.both(first, second) if first != second else first
    else:
        found = human(dice, kind)
    if kind == "man" and (found.gender == "f" or found.many):
        return PRONOUNS[2]
    return PRONOUNS[3] if kind == "woman" and (found.gender == "m" or found.many) else found


def _animal(dice: Dice, noun: Noun) -> Phrase:
    many = dice.chance(0.35)
    words = ("the", "the", phrases.pointing(many)[0], *(("my", "your", "our") if "pet" in noun.kinds else ()))
    return noun_phrase(dice.pick(words), noun, many)


def other_pronoun(dice: Dice, doer: Phrase, *pronouns: Phrase) -> Phrase:
    """Draw a pronoun for somebody else than the subject, which rules out "I see us"."""
    found = dice.pick(pronouns)
    require({found.person, doer.person} not in ({0}, {1}, {3}, {4}, {0, 3}, {1, 3}))
    return found


def other_human(dice: Dice, doer: Phrase, kind: str = "person") -> Phrase:
    """Draw a person other than the subject."""
    found = human(dice, kind)
    require(found.english.split()[-1] not in doer.english.split())
    return found


@cache
def _ornaments(noun: Noun) -> tuple[Adjective, ...]:
    """Adjectives for lasting qualities, or for how drinks are served, beside the noun."""
    fitting = (one for one in describing(noun) if one.position != "never")
    return tuple(one for one in fitting if one.copula == "ser" or "drink" in one.kinds)


def thing(dice: Dice, noun: Noun, owner: Phrase, style: str = "open") -> Phrase:
    """Draw a noun phrase for an object.

    style: "general" is a whole kind ("bread", "red shoes"), "fixed" a particular thing ("the book", "my
    book"), "open" also an indefinite number of things ("a book", "three books").
    """
    kinds, ornaments = set(noun.kinds), _ornaments(noun)
    own = "the" if owner.own == "its" or "common" in kinds else owner.own
    if (word := _only_word(noun, own)) is not None:
        return noun_phrase(word, noun)
    adjective = dice.pick(ornaments) if ornaments and dice.chance(0.22) else None
    one = noun.count != "count" or "place" in kinds
    each = owner.many and "clothes" in kinds  # we wear our hats
    many = noun.count == "plural" or "pairs" in kinds or each or (not one and dice.chance(0.4))
    if style == "general":
        return noun_phrase("", noun, noun.count != "mass", adjective)
    if "portable" in kinds and dice.chance(0.08):
        return phrases.possessed(dice.pick(names()), noun, many)
    return noun_phrase(_word(dice, noun, own, many, style), noun, many, adjective)


def _only_word(noun: Noun, own: str) -> str | None:
    """The determiner of a noun that allows only one ("" for none): the moon, English, my homework."""
    kinds = set(noun.kinds)
    if noun.count == "single":
        return "the"
    if NAMELESS & kinds:
        return ""
    if OWNED & kinds:
        return own
    return "generic" if "meal" in kinds else None


def _word(dice: Dice, noun: Noun, own: str, many: bool, style: str) -> str:
    """Draw a determiner."""
    fixed = style == "fixed"
    if noun.count == "mass":
        return dice.pick(("the", "the", own) if fixed else ("the", "", "", own))
    other = dice.pick(("the",) if "common" in noun.kinds else ("my", "your", "our"))
    if many:
        words = ("the", "the", "these", "those", own, own, other)
        return dice.pick(words if fixed or noun.count == "plural" else (*words, *QUANTITIES))
    words = ("the", "the", "the", own, own, "this", "that", other)
    return dice.pick(words if fixed else (*words, "a", "a", "a", "another"))


def pronoun_object(dice: Dice, verb: Verb, doer: Phrase) -> Predicate:
    """The verb with a pronoun: in Spanish before the verb, or after the verb's preposition."""
    pronoun = other_pronoun(dice, doer, *PRONOUNS)
    if verb.spanish_link:
        return bare(verb, pronoun.object, phrases.prepositional(verb.spanish_link, pronoun))
    return bare(verb, pronoun.object, "", pronoun.clitic)


def _with_object(dice: Dice, verb: Verb, doer: Phrase, style: str, tense: str) -> Predicate:
    """Draw an object of one of the verb's kinds; people take the personal "a" or the verb's preposition."""
    kind, link = dice.pick(verb.object), verb.spanish_link
    if kind in PEOPLE:
        if (tense != "going to" or link) and dice.chance(0.35):
            return pronoun_object(dice, verb, doer)
        found, link = other_human(dice, doer, kind), link or "a"
    elif kind in ("city", "country") or verb.english_link:
        en, es = phrases.place_phrase(dice.pick(places(kind)), verb.english_link)
        return bare(verb, en, phrases.join(link, es))
    elif verb.article:
        noun = dice.noun(kind)
        found = noun_phrase(verb.article, noun, verb.article == "generic" and noun.count == "count")
    else:
        found = thing(dice, dice.noun(kind), doer, style)
    return bare(verb, found.english, phrases.join(link, found.spanish))


@cache
def tenses(verb: Verb) -> tuple[str, ...]:
    """The tenses that a verb allows, repeated by weight."""
    allowed = (row for row in rows("tenses") if row["use"] in verb.uses)
    return tuple(row["tense"] for row in allowed for _ in range(int(row["weight"])))


@cache
def _time_kind(tense: str) -> str:
    return next(row["time"] for row in rows("tenses") if row["tense"] == tense)


@cache
def verbs_with(letter: str) -> tuple[Verb, ...]:
    """All verbs with this letter in the column `uses`."""
    return tuple(verb for verb in verbs() if letter in verb.uses)


@cache
def _busy_verbs() -> tuple[Verb, ...]:
    """All verbs, repeated by weight: more often if they have a future or an imperfect, which adds forms."""
    return tuple(verb for verb in verbs() for _ in range(2 + ("F" in verb.uses) + ("U" in verb.uses)))


def predicate(
    dice: Dice, verb: Verb, doer: Phrase, tense: str, style: str = "open", extras: float = 1.0
) -> Predicate:
    """Draw the rest of the predicate: an object, perhaps a manner or a place.

    style: of the object, "open" or "fixed"; a habit concerns one particular thing or a kind of thing.
    extras: scales the probability of manner and place; 0 means never.
    """
    if verb.object and tense in ("present", "used to"):
        style = {"kind": "general", "any": "fixed"}.get(verb.habit, style)
    found = _with_object(dice, verb, doer, style, tense) if verb.object else bare(verb)
    if verb.manner and dice.chance(0.45 * extras):
        return found.longer(*_manner(dice, verb, tense, style))
    if verb.places and dice.chance((0.3 if verb.object else 0.6) * extras):
        return found.longer(*phrases.location(dice, dice.pick(verb.places)))
    if "C" in verb.uses and doer.person != 3 and dice.chance(0.3 * extras):
        return found.longer(*_company(dice, doer))
    return found


def _manner(dice: Dice, verb: Verb, tense: str, style: str) -> Pair:
    """Draw an adverb of manner."""
    kind = dice.pick(verb.manner)
    require(kind != "bit" or style != "fixed")
    require(kind != "season" or _time_kind(tense) == "habit")
    en, es, _ = dice.pick(adverbials(kind))
    require(en != "badly" or style != "fixed")
    return en, es


def _company(dice: Dice, doer: Phrase) -> Pair:
    """Draw "with" somebody."""
    if dice.chance(0.4):
        pronoun = other_pronoun(dice, doer, *PRONOUNS)
        return f"with {pronoun.object}", phrases.prepositional("con", pronoun)
    found = other_human(dice, doer)
    return f"with {found.english}", f"con {found.spanish}"


def timed(dice: Dice, verb: Verb, tense: str, said: Predicate) -> tuple[Predicate, Pair]:
    """Draw a time that fits the tense: at the end of the predicate, or to open the sentence with."""
    kind = _time_kind(tense)
    if not kind or verb.past == "state" or (verb.habit == "none" and kind == "habit"):
        return said, NOTHING
    daily = verb.spanish.endswith("se") or verb.english.startswith("have ")  # not "I shaved last year"
    en, es, front = dice.pick(adverbials(f"near_{kind}" if daily and kind in NEAR else kind))
    if said.english_tail.endswith(DATED) or dice.chance(0.45):
        return said, NOTHING
    if front and dice.chance(0.2):
        return said, (en, es)
    return said.longer(en, es), NOTHING


def scene(dice: Dice, style: str, extras: float = 1.0) -> tuple[Verb, Phrase, str, Predicate]:
    """Draw a verb, a subject, a tense and a predicate."""
    verb = dice.pick(_busy_verbs())
    doer, tense = subject(dice, verb.subject), dice.pick(tenses(verb))
    return verb, doer, tense, predicate(dice, verb, doer, tense, style, extras)
