"""Sentence patterns: likes, pains, feelings, opinions and reasons."""

from course_lib.datasets.grammar import spanish
from course_lib.datasets.grammar.clauses import (
    MOODS,
    NEGATIVE,
    QUESTION,
    STATEMENT,
    Pair,
    Predicate,
    Shape,
    asks_self,
    bare_past,
    clause,
    finished,
    mark,
    spanish_tense,
)
from course_lib.datasets.grammar.lexicon import of_kind, places
from course_lib.datasets.grammar.phrases import PRONOUNS, Dice, Phrase, join, noun_phrase, place_phrase
from course_lib.datasets.grammar.predicates import predicate, tenses, verbs_with
from course_lib.datasets.grammar.roles import subject
from course_lib.datasets.grammar.states import being, one_quality, topic
from course_lib.datasets.grammar.tables import rows

TASTES = (("like", "gustar"), ("like", "gustar"), ("like", "gustar"), ("love", "encantar"))
LIKED = (
    "food",
    "drink",
    "dish",
    "fruit",
    "pet",
    "sport",
    "subject",
    "clothes",
    "plant",
    "hotdrink",
    "farmanimal",
)
SEEN = ("clothes", "readable", "show", "song", "vehicle", "furniture", "city", "gift")
OPINIONS = (("think", "creer"), ("know", "saber"), ("say", "decir"), ("think", "creer"))


def _likers(dice: Dice) -> tuple[Phrase, str]:
    """Draw a person, and the Spanish phrase "a Ana", which is dropped with me, te and nos."""
    who = subject(dice)
    if who.clitic in ("me", "te", "nos"):
        return who, ""
    whom = (who.strong or who.spanish).replace(" y ", " y a ")  # each of two people gets its own "a"
    return who, f"a {whom.removesuffix('yo')}mí" if whom.endswith(" yo") else f"a {whom}"


def _liked(dice: Dice, who: Phrase) -> tuple[Phrase, bool]:
    """Draw what a person likes: a kind ("apples": "las manzanas"), or a particular thing (then True)."""
    if dice.chance(0.6):
        noun = dice.pick(of_kind(dice.pick(LIKED)))
        return noun_phrase("generic", noun, noun.count != "mass"), False
    kind = dice.pick(SEEN)
    if kind == "city":
        place = dice.pick(places("city"))
        return Phrase(*place_phrase(place, "")), True
    noun = dice.pick(of_kind(kind))
    many = "pairs" in noun.kinds or dice.chance(0.35)
    words = ("these", "those") if many else ("this", "that")
    if "common" not in noun.kinds and who.own in ("my", "your", "our"):
        words += ("my",) if who.own == "your" else ("your",)
    return noun_phrase(dice.pick(words), noun, many), True


def _experienced(who: Phrase, whom: str, en: Pair, es: tuple[str, str, int], shape: Shape) -> Pair:
    """Verbs like gustar, whose Spanish subject is the thing: "a Ana le gustan las manzanas".

    en: the English verb and what follows it. es: the Spanish verb, its subject, and the subject's person.
    """
    english_side = clause(who, Predicate(en[0], "ser", en[1], "", state=True), shape)[0]
    group = spanish.verb_group(es[0], shape.tense, es[2], spanish.DATIVES[who.person])
    spanish_side = join(whom, "no" if shape.mood == NEGATIVE else "", group, es[1])
    return finished(english_side, spanish_side, mark(shape.mood))


def liking(dice: Dice) -> Pair | None:
    """ "Ana likes apples.": "A Ana le gustan las manzanas." """
    who, whom = _likers(dice)
    en, es = dice.pick(TASTES)
    mood = dice.pick(MOODS)
    liked, particular = _liked(dice, who)
    tense = "past" if particular and dice.chance(0.4) else "present"
    if asks_self(mood, who) or (en == "love" and mood != STATEMENT):
        return None
    return _experienced(who, whom, (en, liked.english), (es, liked.spanish, liked.person), Shape(tense, mood))


def liking_to(dice: Dice) -> Pair | None:
    """ "I like to swim.", "Ana would like to travel to Peru." """
    who, whom = _likers(dice)
    verb = dice.pick(verbs_with("L"))
    mood, would = dice.pick(MOODS), dice.chance(0.4)
    said = predicate(dice, verb, who, "past" if would else "used to", "fixed", 0.7)
    if (
        said is None
        or said.clitic
        or "person" not in verb.subject
        or asks_self(mood, who)
        or verb.past == "state"
    ):
        return None
    tail = f"to {join(said.english, said.english_tail)}"
    infinitive = join(spanish.infinitive_group(said.spanish, said.clitic, who.person), said.spanish_tail)
    if not would:
        return _experienced(who, whom, ("like", tail), ("gustar", infinitive, 2), Shape("present", mood))
    if mood == NEGATIVE:
        return None
    en = f"{who.english} would like" if mood == STATEMENT else f"would {who.english} like"
    es = join(whom, spanish.verb_group("gustar", "conditional", 2, spanish.DATIVES[who.person]), infinitive)
    return finished(join(en, tail), es, mark(mood))


def aching(dice: Dice) -> Pair | None:
    """ "My head hurts.": "Me duele la cabeza." """
    who, whom = _likers(dice)
    noun = dice.pick(of_kind("body", "bodies"))
    mood, tense = dice.pick(MOODS), dice.pick(("present", "present", "past"))
    if asks_self(mood, who) or who.noun or (who.many and not who.object):
        return None
    many = "bodies" in noun.kinds
    part = noun_phrase("the", noun, many)
    word = who.own if who.clitic else f"{who.english}'s"
    mine = Phrase(f"{word} {noun.english_plural if many else noun.english}", "", 4 if many else 2)
    said = Predicate("hurt", "doler", state=True)
    if tense == "past" and bare_past(said, Shape(tense, mood), mine.person):
        return None
    en = clause(mine, said, Shape(tense, mood))[0]
    group = spanish.verb_group("doler", spanish_tense(tense, True), mine.person, spanish.DATIVES[who.person])
    es = join(whom, "no" if mood == NEGATIVE else "", group, part.spanish)
    return finished(en, es, mark(mood))


def interest(dice: Dice) -> Pair | None:
    """ "Ana is interested in history.": "A Ana le interesa la historia." """
    who, whom = _likers(dice)
    noun = dice.pick(of_kind("subject", "subject", "language", "plan", "trip"))
    what = noun_phrase("generic", noun) if noun.count == "mass" else topic(dice, noun)
    mood = dice.pick(MOODS)
    if asks_self(mood, who):
        return None
    shape = Shape("present", mood)
    return _experienced(
        who, whom, ("be", f"interested in {what.english}"), ("interesar", what.spanish, what.person), shape
    )


def feeling(dice: Dice) -> Pair | None:
    """ "I am very hungry.": "Tengo mucha hambre." """
    who, row = subject(dice), dice.pick(rows("feelings"))
    mood, tense = dice.pick(MOODS), dice.pick(("present", "present", "past"))
    if asks_self(mood, who):
        return None
    very = dice.chance(0.4)
    much = ("mucha" if row["gender"] == "f" else "mucho") if very else ""
    tail = join("very" if very else "", row["english"]), join(much, row["spanish"])
    said = Predicate("be", "tener", *tail, state=True)
    return finished(*clause(who, said, Shape(tense, mood)), mark(mood))


def _short_clause(dice: Dice) -> Pair | None:
    """Draw a short statement to embed in another sentence."""
    who, adjective = one_quality(dice)
    if dice.chance(0.4):
        verb = dice.pick(verbs_with(""))
        who, tense = subject(dice, verb.subject), dice.pick(tenses(verb))
        said = predicate(dice, verb, who, tense, "fixed", 0.4)
        shape = Shape(tense)
        return clause(who, said, shape) if said and not bare_past(said, shape, who.person) else None
    return clause(who, being(adjective, who), Shape(dice.pick(("present", "present", "past"))))


def opinion(dice: Dice) -> Pair | None:
    """ "I think that Ana is tired." """
    who, inner, (en, es) = subject(dice), _short_clause(dice), dice.pick(OPINIONS)
    first = inner[0].split()[0] if inner else "that"
    if first in (who.english, "that") or (who.person in (0, 3) and first in ("I", "we")):
        return None
    mood = QUESTION if dice.chance(0.15) and who.person not in (0, 3) else STATEMENT
    said = Predicate(en, es, f"that {inner[0]}", f"que {inner[1]}")
    return finished(*clause(who, said, Shape("present", mood)), mark(mood))


def _state_word(row: dict[str, str], who: Phrase) -> str:
    """The noun after tener, or the adjective after estar, which agrees with the subject."""
    return (
        row["spanish"]
        if row["copula"] == "tener"
        else spanish.agree(row["spanish"], "", "", who.gender, who.many)
    )


def reason(dice: Dice) -> Pair | None:
    """ "I slept because I was tired.", "When I am sad, I sing." """
    who, row = dice.pick(PRONOUNS), dice.pick(rows("reasons"))
    state = Predicate("be", row["copula"], row["english"], _state_word(row, who), state=True)
    acts = [word.replace("_", " ") for word in row["deeds"].split()]
    verb = dice.pick([one for one in verbs_with("P") if one.english in acts and "person" in one.subject])
    tense = dice.pick(("present", "past"))
    deed = predicate(dice, verb, who, tense, "fixed", 0.4)
    again = who._replace(spanish="")  # the second clause does not repeat "ella"
    if deed is None or (deed.clitic and tense == "present") or bare_past(deed, Shape(tense), who.person):
        return None
    if tense == "present":
        first, second = clause(who, state, Shape()), clause(again, deed, Shape())
        return finished(f"when {first[0]}, {second[0]}", f"cuando {first[1]}, {second[1]}")
    first, second = clause(who, deed, Shape(tense)), clause(again, state, Shape(tense))
    return finished(f"{first[0]} because {second[0]}", f"{first[1]} porque {second[1]}")
