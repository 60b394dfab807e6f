"""Sentence patterns: actions.

A pattern takes a random source and returns one sentence pair; it raises Nonsense if the draw makes no sense.
"""

from course_lib.datasets.grammar import clauses, lexicon, predicates
from course_lib.datasets.grammar.clauses import MOODS, NOTHING, STATEMENT, Pair, Predicate, finished, sentence
from course_lib.datasets.grammar.lexicon import Entry, Noun, Verb, adverbials, entries, expressions, verbs
from course_lib.datasets.grammar.phrases import NUMBERS, PRONOUNS, Dice, Phrase, join, noun_phrase, require
from course_lib.datasets.grammar.predicates import other_human, predicate, scene, subject, timed, verbs_with
from course_lib.datasets.grammar.spanish import command

ME, YOU, HE, SHE, WE, THEY = PRONOUNS


def _beside(dice: Dice, verb: Verb, tense: str, mood: str) -> Pair:
    """Draw an adverb beside the verb if tense and mood allow one."""
    if mood != STATEMENT:
        return NOTHING
    if tense == "present" and verb.past == "event" and verb.habit != "none" and dice.chance(0.3):
        return dice.pick(adverbials("frequency"))[:2]
    return dice.expression("perfect adverb") if tense == "perfect" and dice.chance(0.4) else NOTHING


def statement(dice: Dice, mood: str = STATEMENT) -> Pair:
    """ "Ana bought a book yesterday." """
    verb, doer, tense, said = scene(dice, "open" if mood == STATEMENT else "fixed")
    adverb, front = _beside(dice, verb, tense, mood), NOTHING
    animal = doer.noun is not None and "person" not in doer.noun.kinds
    if adverb == NOTHING and not (animal and tense in ("present", "used to")):
        said, front = timed(dice, verb, tense, said)
    require(not front[0] or len(doer.english) <= 12)
    habits = tuple(en for en, _, _ in adverbials("habit"))
    habitual = adverb != NOTHING or front != NOTHING or said.english_tail.endswith(habits)
    shape = clauses.Shape(tense, mood, adverb)
    require(tense != "present" or habitual or not clauses.bare_past(said, shape, doer.person))
    en, es = clauses.clause(doer, said, shape)
    return finished(join(front[0], en), join(front[1], es))


def denial(dice: Dice) -> Pair:
    """ "Ana didn't buy the book." """
    return statement(dice, clauses.NEGATIVE)


def not_yet(dice: Dice) -> Pair:
    """ "Ana hasn't arrived yet." """
    verb = dice.pick(verbs_with("H"))
    doer = subject(dice, verb.subject)
    said = predicate(dice, verb, doer, "perfect", "fixed", 0.0).longer("yet", "")
    return finished(*clauses.clause(doer, said, clauses.Shape("perfect", clauses.NEGATIVE, ("", "todavía"))))


def _controlled(dice: Dice, verb: Verb, control: Entry, said: Predicate, doer: Phrase) -> Pair:
    """The sentence "doer control verb": "I want to read.", "She doesn't have to work tomorrow." """
    mood, tense = dice.pick(MOODS), control.tense
    if tense == "any":
        tense = dice.pick(("present", "present", "past"))
    require(not clauses.asks_self(mood, doer))
    require(mood == STATEMENT or control.english not in ("must", "prefer to"))
    words = control.english, control.spanish, control.link
    whole = clauses.governed(words, said, doer.person, state=control.tense != "past")
    if tense != "past" and control.uses == "M" and not verb.manner and dice.chance(0.4):
        whole = whole.longer(*dice.pick(adverbials("future"))[:2])
    return sentence(doer, whole, tense, mood)


def willing(dice: Dice) -> Pair:
    """ "I want to read this book.", "Ana can't swim." """
    control = dice.entry("controls")
    verb = dice.pick(verbs_with(control.uses))
    doer = subject(dice, verb.subject)
    said = predicate(dice, verb, doer, "used to" if control.uses in "SL" else "past", "fixed", 0.6)
    require(not said.clitic and bool({"person", "man", "woman", "child"} & set(verb.subject)))
    return _controlled(dice, verb, control, said, doer)


def helping(dice: Dice) -> Pair:
    """ "I want to see her.", "Can you help me?": a pronoun that is attached to the Spanish infinitive."""
    control = dice.pick([one for one in entries("controls") if one.uses in "MT"])
    verb, doer = dice.pick(verbs_with("O")), subject(dice)
    return _controlled(dice, verb, control, predicates.pronoun_object(dice, verb, doer), doer)


def routine(dice: Dice) -> Pair:
    """ "I get up early.", "Ana wants to take a shower.": verbs that are reflexive in Spanish."""
    verb = dice.pick([one for one in verbs() if one.spanish.endswith("se") and not one.object])
    doer, tense, mood = subject(dice, verb.subject), dice.pick(predicates.tenses(verb)), dice.pick(MOODS)
    said = predicate(dice, verb, doer, tense, "fixed", 0.8)
    require(not clauses.asks_self(mood, doer))
    if "M" in verb.uses and dice.chance(0.3):
        control = dice.pick([one for one in entries("controls") if one.uses == "M"])
        return _controlled(dice, verb, control, said, doer)
    said, front = timed(dice, verb, tense, said)
    require(front == NOTHING)
    return sentence(doer, said, tense, mood)


def order(dice: Dice) -> Pair:
    """ "Open the window, please.", "Don't open the window." """
    said = predicate(dice, dice.pick(verbs_with("I")), YOU, "past", "fixed", 0.5)
    require(not said.clitic)
    negative = dice.chance(0.4)
    please = (", please", ", por favor") if dice.chance(0.5) else NOTHING
    en = join("don't" if negative else "", said.english, said.english_tail)
    es = join(command(said.spanish, negative), said.spanish_tail)
    return finished(en + please[0], es + please[1])


def giving(dice: Dice) -> Pair:
    """ "Ana gave me the book.", "I sent a letter to my brother.": "le" doubles a recipient that is a noun."""
    verb, doer = dice.entry("givings"), subject(dice)
    tense, mood = dice.pick(("present", "past", "past", "perfect")), dice.pick(MOODS)
    style = "open" if mood == STATEMENT and tense != "present" else "fixed"
    given = predicates.thing(dice, dice.noun(*verb.object), doer, style)
    if dice.chance(0.45):
        taker = predicates.other_pronoun(dice, doer, ME, YOU, WE)
        tail = f"{taker.object} {given.english}", given.spanish, taker.clitic
    else:
        taker = other_human(dice, doer)
        clitic = "les" if taker.many else "le"
        tail = f"{given.english} to {taker.english}", f"{given.spanish} a {taker.spanish}", clitic
    return sentence(doer, Predicate(verb.english, verb.spanish, *tail), tense, mood)


def portion(dice: Dice) -> Pair:
    """ "I drank a glass of water.": "Bebí un vaso de agua." """
    measure = dice.entry("measures", Noun)
    noun = dice.pick([one for one in lexicon.of_kind(*measure.kinds) if one.count == "mass"])
    choices = expressions("portion")
    if "drink" in noun.kinds:
        choices += expressions("portion of drink")
    elif "food" in noun.kinds and measure.english == "piece":
        choices += expressions("portion of food")
    verb, who, mood = dice.pick(choices), subject(dice), dice.pick(MOODS)
    state = verb[0] in ("want", "need")
    tense = dice.pick(("present", "past") if state else ("past", "future", "going to"))
    require(not clauses.asks_self(mood, who))
    word = dice.pick(("a", "a", "another", "two", "three", "four") if mood == STATEMENT else ("a", "another"))
    amount = noun_phrase(word, measure, word in NUMBERS)
    tail = f"{amount.english} of {noun.english}", f"{amount.spanish} de {noun.spanish}"
    return sentence(who, Predicate(*verb, *tail, state=state), tense, mood)
