"""Sentence patterns: actions.

A pattern takes a random source and returns one sentence pair, or None if the draw makes no sense.
"""

from course_lib.datasets.grammar.clauses import (
    MOODS,
    NEGATIVE,
    STATEMENT,
    Pair,
    Predicate,
    Shape,
    asks_self,
    bare_past,
    clause,
    finished,
    governed,
    mark,
)
from course_lib.datasets.grammar.lexicon import Verb, adverbials, measure, of_kind
from course_lib.datasets.grammar.phrases import NUMBERS, PRONOUNS, Dice, Phrase, human, join, noun_phrase
from course_lib.datasets.grammar.predicates import predicate, scene, tenses, timed, verbs_with
from course_lib.datasets.grammar.roles import overlap, pronoun_object, subject, thing
from course_lib.datasets.grammar.spanish import command
from course_lib.datasets.grammar.tables import rows

YOU = PRONOUNS[1]
ACTORS = {"person", "man", "woman", "child"}


def _beside(dice: Dice, verb: Verb, tense: str, mood: str) -> Pair:
    """Draw an adverb beside the verb if tense and mood allow one."""
    if tense == "present" and mood == STATEMENT and verb.past == "event" and verb.habit != "none":
        return dice.pick(adverbials("frequency"))[:2] if dice.chance(0.3) else ("", "")
    if tense == "perfect" and mood == STATEMENT and dice.chance(0.4):
        return dice.pick((("already", "ya"), ("never", "nunca")))
    return "", ""


def _dated(said: Predicate, adverb: Pair, front: Pair) -> bool:
    """Whether an adverb or a time shows that a habit is meant."""
    return bool(adverb[0] or front[0]) or any(
        said.english_tail.endswith(time) for time, _, _ in adverbials("habit")
    )


def event(dice: Dice, mood: str) -> Pair | None:
    """A statement or a negative about an action."""
    verb, doer, tense, said = scene(dice, "open" if mood == STATEMENT else "fixed")
    if said is None:
        return None
    adverb = _beside(dice, verb, tense, mood)
    front = ("", "")
    habit = tense in ("present", "used to")
    animal = doer.noun is not None and "person" not in doer.noun.kinds
    if adverb == ("", "") and not (habit and animal):
        said, front = timed(dice, verb, tense, said)
    shape = Shape(tense, mood, adverb)
    if front[0] and len(doer.english) > 12:
        return None
    if tense == "present" and bare_past(said, shape, doer.person) and not _dated(said, adverb, front):
        return None
    en, es = clause(doer, said, shape)
    return finished(join(front[0], en), join(front[1], es))


def statement(dice: Dice) -> Pair | None:
    """ "Ana bought a book yesterday." """
    return event(dice, STATEMENT)


def denial(dice: Dice) -> Pair | None:
    """ "Ana didn't buy the book." """
    return event(dice, NEGATIVE)


def not_yet(dice: Dice) -> Pair | None:
    """ "Ana hasn't arrived yet." """
    verb = dice.pick(verbs_with("H"))
    doer = subject(dice, verb.subject)
    said = predicate(dice, verb, doer, "perfect", "fixed", 0.0)
    if said is None:
        return None
    return finished(*clause(doer, said.longer("yet", ""), Shape("perfect", NEGATIVE, ("", "todavía"))))


def _control_tense(dice: Dice, control: dict[str, str]) -> str:
    return dice.pick(("present", "present", "past")) if control["tense"] == "any" else control["tense"]


def _controlled(
    dice: Dice, verb: Verb, control: dict[str, str], said: Predicate, doer: Phrase
) -> Pair | None:
    """The sentence "doer control verb": "I want to read.", "She doesn't have to work tomorrow." """
    mood, tense = dice.pick(MOODS), _control_tense(dice, control)
    if asks_self(mood, doer) or (mood != STATEMENT and control["english"] in ("must", "prefer to")):
        return None
    words = control["english"], control["spanish"], control["link"]
    whole = governed(words, said, doer.person, state=control["tense"] != "past")
    if tense != "past" and control["uses"] == "M" and not verb.manner and dice.chance(0.4):
        whole = whole.longer(*dice.pick(adverbials("future"))[:2])
    return finished(*clause(doer, whole, Shape(tense, mood)), mark(mood))


def willing(dice: Dice) -> Pair | None:
    """ "I want to read this book.", "Ana can't swim." """
    control = dice.pick(rows("controls"))
    verb = dice.pick(verbs_with(control["uses"]))
    doer = subject(dice, verb.subject)
    said = predicate(dice, verb, doer, "used to" if control["uses"] in "SL" else "past", "fixed", 0.6)
    if said is None or said.clitic or not ACTORS & set(verb.subject):
        return None
    return _controlled(dice, verb, control, said, doer)


def helping(dice: Dice) -> Pair | None:
    """ "I want to see her.", "Can you help me?": a pronoun that is attached to the Spanish infinitive."""
    control = dice.pick([row for row in rows("controls") if row["uses"] in "MT"])
    verb, doer = dice.pick(verbs_with("O")), subject(dice)
    said = pronoun_object(dice, verb, doer)
    return _controlled(dice, verb, control, said, doer) if said else None


def routine(dice: Dice) -> Pair | None:
    """ "I get up early.", "Ana wants to take a shower.": verbs that are reflexive in Spanish."""
    verb = dice.pick([one for one in verbs_with("") if one.spanish.endswith("se") and not one.object])
    doer, tense, mood = subject(dice, verb.subject), dice.pick(tenses(verb)), dice.pick(MOODS)
    said = predicate(dice, verb, doer, tense, "fixed", 0.8)
    if said is None or asks_self(mood, doer):
        return None
    if "M" in verb.uses and dice.chance(0.3):
        control = dice.pick([row for row in rows("controls") if row["uses"] == "M"])
        return _controlled(dice, verb, control, said, doer)
    said, front = timed(dice, verb, tense, said)
    en, es = clause(doer, said, Shape(tense, mood))
    return None if front[0] else finished(en, es, mark(mood))


def order(dice: Dice) -> Pair | None:
    """ "Open the window, please.", "Don't open the window." """
    verb = dice.pick(verbs_with("I"))
    said = predicate(dice, verb, YOU, "past", "fixed", 0.5)
    if said is None or said.clitic:
        return None
    negative = dice.chance(0.4)
    en = join("don't" if negative else "", said.english, said.english_tail)
    es = join(command(said.spanish, negative), said.spanish_tail)
    if dice.chance(0.5):
        en, es = en + ", please", es + ", por favor"
    return finished(en, es)


def _given(dice: Dice, row: dict[str, str], given: Phrase, doer: Phrase) -> Predicate | None:
    """The verb with its object and recipient: a pronoun, or a noun doubled by "le" or "les"."""
    if dice.chance(0.45):
        taker = dice.pick([one for one in PRONOUNS if one.english in ("I", "you", "we")])
        if overlap(taker, doer):
            return None
        tail = f"{taker.object} {given.english}", given.spanish
        return Predicate(row["english"], row["spanish"], *tail, taker.clitic)
    taker = human(dice)
    if taker.english.split()[-1] in doer.english.split():
        return None
    tail = f"{given.english} to {taker.english}", f"{given.spanish} a {taker.spanish}"
    return Predicate(row["english"], row["spanish"], *tail, "les" if taker.many else "le")


def giving(dice: Dice) -> Pair | None:
    """ "Ana gave me the book.", "I sent a letter to my brother." """
    row, doer = dice.pick(rows("givings")), subject(dice)
    tense = dice.pick(("present", "past", "past", "perfect"))
    mood = dice.pick(MOODS)
    style = "open" if mood == STATEMENT and tense != "present" else "fixed"
    given = thing(dice, dice.pick(of_kind(*row["object"].split())), doer, style)
    said = _given(dice, row, given, doer)
    if said is None or asks_self(mood, doer):
        return None
    return finished(*clause(doer, said, Shape(tense, mood)), mark(mood))


def portion(dice: Dice) -> Pair | None:
    """ "I drank a glass of water.": "Bebí un vaso de agua." """
    row = dice.pick(rows("measures"))
    noun = dice.pick([one for one in of_kind(row["kinds"]) if one.count == "mass"])
    deeds = [("buy", "comprar", False), ("want", "querer", True), ("need", "necesitar", True)]
    if "drink" in noun.kinds:
        deeds += [("drink", "beber", False)] * 2
    elif "food" in noun.kinds and row["english"] == "piece":
        deeds += [("eat", "comer", False)] * 2
    en, es, state = dice.pick(deeds)
    who, mood = subject(dice), dice.pick(MOODS)
    tense = dice.pick(("present", "past") if state else ("past", "future", "going to"))
    if asks_self(mood, who):
        return None
    word = dice.pick(("a", "a", "another", "two", "three", "four") if mood == STATEMENT else ("a", "another"))
    amount = noun_phrase(word, measure(row["english"]), word in NUMBERS)
    tail = f"{amount.english} of {noun.english}", f"{amount.spanish} de {noun.spanish}"
    return finished(*clause(who, Predicate(en, es, *tail, state=state), Shape(tense, mood)), mark(mood))
