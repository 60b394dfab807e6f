"""Sentence patterns: yes/no questions, and questions with who, what, where, when and why."""

from course_lib.datasets.grammar import clauses, predicates
from course_lib.datasets.grammar.clauses import NEGATIVE, QUESTION, Pair, Shape, bare, be, clause, wh_question
from course_lib.datasets.grammar.lexicon import Verb, verbs
from course_lib.datasets.grammar.phrases import PRONOUNS, WHO, Dice, Phrase, require
from course_lib.datasets.grammar.predicates import PEOPLE, predicate, scene, subject, tenses, timed
from course_lib.datasets.grammar.states import being, one_quality, topic

YOU = PRONOUNS[1]


def _transitive_verb(dice: Dice) -> Verb:
    """Draw a verb whose object can be asked about with "what"."""
    verb = dice.pick([one for one in verbs() if one.object])
    require(not (verb.spanish_link or verb.english_link or verb.article))
    require(not PEOPLE & set(verb.object) and verb.object != ("language",))
    return verb


def _asked_doer(dice: Dice, verb: Verb) -> tuple[Phrase, str]:
    """Draw a subject to ask about, and a tense."""
    doer, tense = subject(dice, verb.subject), dice.pick(tenses(verb))
    require(doer.person not in (0, 3) and tense != "used to")
    return doer, tense


def _asked_verb(dice: Dice, verb: Verb, doer: Phrase, tense: str, asked: Pair) -> Pair:
    """The question about the object of a verb, perhaps with a time."""
    said, _ = timed(dice, verb, tense, bare(verb))
    return wh_question(asked, doer, said, tense)


def question(dice: Dice) -> Pair:
    """ "Did Ana buy the book?": in Spanish, a statement between question marks."""
    verb, doer, tense, said = scene(dice, "fixed")
    require(tense != "used to" and doer.person not in (0, 3))
    said, _ = timed(dice, verb, tense, said)
    return clauses.sentence(doer, said, tense, QUESTION)


def asked_what(dice: Dice) -> Pair:
    """ "What are you reading?" """
    verb = _transitive_verb(dice)
    return _asked_verb(dice, verb, *_asked_doer(dice, verb), ("what", "qué"))


def asked_which(dice: Dice) -> Pair:
    """ "Which book did you buy?", "How many books did you buy?" """
    verb = _transitive_verb(dice)
    doer, tense = _asked_doer(dice, verb)
    require(verb.object[0] != "city" and (tense != "present" or verb.habit != "kind"))
    noun = dice.noun(*verb.object)
    require(noun.count == "count" and not {"celebration", "meal"} & set(noun.kinds))
    asked = (f"which {noun.english}", f"qué {noun.spanish}")
    if tense in ("past", "perfect", "future", "going to") and dice.chance(0.6):
        quantity = "cuántos" if noun.gender == "m" else "cuántas"
        asked = (f"how many {noun.plural}", f"{quantity} {noun.spanish_plural}")
    return wh_question(asked, doer, bare(verb), tense)


def asked_where(dice: Dice) -> Pair:
    """ "Where did Ana buy the book?", "Why don't you sleep?" """
    asked = dice.expression("question word")
    verb, doer, tense, said = scene(dice, "fixed", 0.0 if asked[0] == "where" else 0.3)
    sensible = {
        "where": verb.places and not verb.english_link and "room" not in verb.places,
        "when": verb.past != "state" and tense not in ("progressive", "perfect"),
        "how often": verb.past != "state" and tense == "present" and verb.habit != "none",
        "why": True,
    }
    require(bool(sensible[asked[0]]) and doer.person not in (0, 3))
    require(tense not in ("used to", "past progressive"))
    negative = asked[0] == "why" and tense in ("present", "progressive") and dice.chance(0.4)
    return wh_question(asked, doer, said, tense, NEGATIVE if negative else QUESTION)


def asked_whither(dice: Dice) -> Pair:
    """ "Where does Ana live?", "Where are you going to travel?" with verbs that require a place."""
    verb = dice.pick([one for one in verbs() if one.english in ("go", "travel", "live", "stay", "work")])
    doer, tense = _asked_doer(dice, verb)
    require(bool(verb.english_link))
    return _asked_verb(dice, verb, doer, tense, ("where", "adónde" if verb.spanish_link == "a" else "dónde"))


def asked_who(dice: Dice) -> Pair:
    """ "Who broke the window?" """
    verb = dice.pick(verbs())
    tense = dice.pick(tenses(verb))
    said = predicate(dice, verb, WHO, tense)
    require("person" in verb.subject and tense not in ("used to", "past progressive"))
    require("their" not in said.english_tail.split())
    said, _ = timed(dice, verb, tense, said)
    return clauses.finished(*clause(WHO, said, Shape(tense)), "?")


def asked_whom(dice: Dice) -> Pair:
    """ "Who are you looking for?": with the personal "a" or the verb's preposition."""
    verb = dice.pick([one for one in verbs() if "person" in one.object])
    doer, tense = _asked_doer(dice, verb)
    require(verb.past != "state" or tense != "past")
    return _asked_verb(dice, verb, doer, tense, ("who", f"{verb.spanish_link or 'a'} quién"))


def ever(dice: Dice) -> Pair:
    """ "Have you ever eaten fish?" """
    said = predicate(dice, dice.pick(predicates.verbs_with("H")), YOU, "used to")
    en, es = clause(YOU, said, Shape("perfect", QUESTION, ("ever", "")))
    return clauses.finished(en, "alguna vez " + es, "?")


def asked_being(dice: Dice) -> Pair:
    """ "Where are my keys?", "Where is Ana from?", "How is your mother?" """
    roll = dice.roll()
    tense = dice.pick(("present", "past")) if roll < 0.55 else "present"
    who = topic(dice, dice.noun("portable", "losable")) if roll < 0.35 else subject(dice)
    if roll < 0.55:
        return wh_question(("where", "dónde"), who, be("estar"), tense)
    if roll < 0.75:
        return wh_question(("where", "de dónde"), who, be("ser", "from"), tense)
    return wh_question(("how", "cómo"), who, be("estar"), tense)


def why_being(dice: Dice) -> Pair:
    """ "Why are you tired?", "Why isn't the door open?" """
    who, adjective = one_quality(dice)
    require(who.person not in (0, 3) and adjective.copula != "ser" and adjective.english != "married")
    mood, tense = dice.pick((QUESTION, QUESTION, NEGATIVE)), dice.pick(("present", "past"))
    return wh_question(("why", "por qué"), who, being(adjective, who), tense, mood)
