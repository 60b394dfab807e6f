"""Sentence patterns: yes/no questions, and questions with who, what, where, when and why."""

from course_lib.datasets.grammar.clauses import NEGATIVE, QUESTION, Pair, Predicate, Shape, clause, finished
from course_lib.datasets.grammar.lexicon import Verb, of_kind
from course_lib.datasets.grammar.phrases import PRONOUNS, WHO, Dice, Phrase
from course_lib.datasets.grammar.predicates import predicate, scene, tenses, timed, verbs_with
from course_lib.datasets.grammar.roles import PEOPLE, subject
from course_lib.datasets.grammar.states import being, one_quality, topic

YOU = PRONOUNS[1]


def _asked_thing(dice: Dice) -> Verb | None:
    """Draw a verb whose object can be asked about with "what"; None if this draw fails."""
    verb = dice.pick([one for one in verbs_with("") if one.object])
    linked = verb.spanish_link or verb.english_link or verb.article
    return None if linked or PEOPLE & set(verb.object) or verb.object == ("language",) else verb


def _asked_doer(dice: Dice, verb: Verb) -> tuple[Phrase, str] | None:
    """Draw a subject to ask about, and a tense; None if this draw fails."""
    doer, tense = subject(dice, verb.subject), dice.pick(tenses(verb))
    return None if doer.person in (0, 3) or tense == "used to" else (doer, tense)


def _plain(verb: Verb) -> Predicate:
    return Predicate(verb.english, verb.spanish, state=verb.past == "state")


def question(dice: Dice) -> Pair | None:
    """ "Did Ana buy the book?": in Spanish, a statement between question marks."""
    verb, doer, tense, said = scene(dice, "fixed")
    if said is None or tense == "used to" or doer.person in (0, 3):
        return None
    said, _ = timed(dice, verb, tense, said)
    return finished(*clause(doer, said, Shape(tense, QUESTION)), "?")


def asked_what(dice: Dice) -> Pair | None:
    """ "What are you reading?" """
    verb = _asked_thing(dice)
    found = _asked_doer(dice, verb) if verb else None
    if found is None:
        return None
    doer, tense = found
    said, _ = timed(dice, verb, tense, _plain(verb))
    return finished(*clause(doer, said, Shape(tense, QUESTION, asked=("what", "qué"))), "?")


def asked_which(dice: Dice) -> Pair | None:
    """ "Which book did you buy?", "How many books did you buy?" """
    verb = _asked_thing(dice)
    found = _asked_doer(dice, verb) if verb else None
    if found is None or verb.object[0] == "city" or (found[1] == "present" and verb.habit == "kind"):
        return None
    doer, tense = found
    noun = dice.pick(of_kind(*verb.object))
    if noun.count != "count" or "celebration" in noun.kinds or "meal" in noun.kinds:
        return None
    asked = (f"which {noun.english}", f"qué {noun.spanish}")
    if tense in ("past", "perfect", "future", "going to") and dice.chance(0.6):
        quantity = "cuántos" if noun.gender == "m" else "cuántas"
        asked = (f"how many {noun.english_plural}", f"{quantity} {noun.spanish_plural}")
    return finished(*clause(doer, _plain(verb), Shape(tense, QUESTION, asked=asked)), "?")


CIRCUMSTANCES = (
    ("where", "dónde"),
    ("when", "cuándo"),
    ("why", "por qué"),
    ("how often", "con qué frecuencia"),
)


def asked_where(dice: Dice) -> Pair | None:
    """ "Where did Ana buy the book?", "Why don't you sleep?" """
    asked = dice.pick(CIRCUMSTANCES)
    verb, doer, tense, said = scene(dice, "fixed", 0.3 if asked[0] != "where" else 0.0)
    moving = bool(verb.english_link)
    if said is None or doer.person in (0, 3) or tense in ("used to", "past progressive"):
        return None
    if asked[0] == "where" and (moving or not verb.places or "room" in verb.places):
        return None
    if asked[0] == "when" and (verb.past == "state" or tense in ("progressive", "perfect")):
        return None
    if asked[0] == "how often" and (tense != "present" or verb.past == "state" or verb.habit == "none"):
        return None
    mood = (
        NEGATIVE
        if asked[0] == "why" and tense in ("present", "progressive") and dice.chance(0.4)
        else QUESTION
    )
    return finished(*clause(doer, said, Shape(tense, mood, asked=asked)), "?")


def asked_whither(dice: Dice) -> Pair | None:
    """ "Where does Ana live?", "Where are you going to travel?" with verbs that require a place."""
    verb = dice.pick(
        [one for one in verbs_with("") if one.english in ("go", "travel", "live", "stay", "work")]
    )
    found = _asked_doer(dice, verb)
    if found is None or not verb.english_link:
        return None
    doer, tense = found
    word = "adónde" if verb.spanish_link == "a" else "dónde"
    said, _ = timed(dice, verb, tense, _plain(verb))
    return finished(*clause(doer, said, Shape(tense, QUESTION, asked=("where", word))), "?")


def asked_who(dice: Dice) -> Pair | None:
    """ "Who broke the window?" """
    verb = dice.pick(verbs_with(""))
    tense = dice.pick(tenses(verb))
    said = predicate(dice, verb, WHO, tense)
    if said is None or "person" not in verb.subject or tense in ("used to", "past progressive"):
        return None
    if "their" in said.english_tail.split():
        return None
    said, _ = timed(dice, verb, tense, said)
    return finished(*clause(WHO, said, Shape(tense)), "?")


def asked_whom(dice: Dice) -> Pair | None:
    """ "Who are you looking for?": with the personal "a" or the verb's preposition."""
    verb = dice.pick([one for one in verbs_with("") if "person" in one.object])
    found = _asked_doer(dice, verb)
    if found is None or (verb.past == "state" and found[1] == "past"):
        return None
    doer, tense = found
    said, _ = timed(dice, verb, tense, _plain(verb))
    asked = ("who", f"{verb.spanish_link or 'a'} quién")
    return finished(*clause(doer, said, Shape(tense, QUESTION, asked=asked)), "?")


def ever(dice: Dice) -> Pair | None:
    """ "Have you ever eaten fish?" """
    verb = dice.pick(verbs_with("H"))
    said = predicate(dice, verb, YOU, "used to")
    if said is None:
        return None
    en, es = clause(YOU, said, Shape("perfect", QUESTION, ("ever", "")))
    return finished(en, "alguna vez " + es, "?")


def asked_being(dice: Dice) -> Pair | None:
    """ "Where are my keys?", "Where is Ana from?", "How is your mother?" """
    roll = dice.roll()
    tense = dice.pick(("present", "past")) if roll < 0.55 else "present"
    who = topic(dice, dice.pick(of_kind("portable", "losable"))) if roll < 0.35 else subject(dice)
    asked, verb, tail = ("where", "dónde"), "estar", ""
    if roll >= 0.75:
        asked = ("how", "cómo")
    elif roll >= 0.55:
        asked, verb, tail = ("where", "de dónde"), "ser", "from"
    if who.person in (0, 3):
        return None
    return finished(
        *clause(who, Predicate("be", verb, tail, state=True), Shape(tense, QUESTION, asked=asked)), "?"
    )


def why_being(dice: Dice) -> Pair | None:
    """ "Why are you tired?", "Why isn't the door open?" """
    who, adjective = one_quality(dice)
    if who.person in (0, 3) or adjective.copula == "ser" or adjective.english == "married":
        return None
    mood = dice.pick((QUESTION, QUESTION, NEGATIVE))
    shape = Shape(dice.pick(("present", "past")), mood, asked=("why", "por qué"))
    return finished(*clause(who, being(adjective, who), shape), "?")
