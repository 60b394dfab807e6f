"""Sentence patterns: places and times ("there is", weather, hours, ages)."""

from functools import cache

from course_lib.datasets.grammar.clauses import (
    MOODS,
    NEGATIVE,
    QUESTION,
    STATEMENT,
    Pair,
    Predicate,
    Shape,
    asks_self,
    clause,
    finished,
    mark,
)
from course_lib.datasets.grammar.lexicon import Noun, of_kind, places
from course_lib.datasets.grammar.phrases import NUMBERS, Dice, Phrase, join, noun_phrase, place_phrase
from course_lib.datasets.grammar.roles import subject
from course_lib.datasets.grammar.states import COPULA_TENSES, topic
from course_lib.datasets.grammar.tables import rows

IT = Phrase("it", "")
AT_TIMES = {
    "present": (("today", "hoy"), ("now", "ahora")),
    "past": (("yesterday", "ayer"), ("last week", "la semana pasada"), ("last night", "anoche")),
    "future": (("tomorrow", "mañana"), ("next week", "la próxima semana"), ("tonight", "esta noche")),
}


@cache
def _prepositions(kinds: tuple[str, ...]) -> tuple[dict[str, str], ...]:
    return tuple(row for row in rows("prepositions") if set(row["kinds"].split()) & set(kinds))


def _spot(dice: Dice, kinds: tuple[str, ...]) -> Pair:
    """Draw a place relative to a thing: "under the table"."""
    noun = dice.pick(of_kind(*kinds))
    row = dice.pick(_prepositions(noun.kinds))
    word = "the" if "common" in noun.kinds else dice.pick(("the", "the", "the", "my", "your", "this", "that"))
    where = noun_phrase(word, noun)
    return f"{row['english']} {where.english}", f"{row['spanish']} {where.spanish}"


def _whereabouts(dice: Dice) -> tuple[Phrase, Pair]:
    """Draw someone or something, and where it is."""
    roll = dice.roll()
    if roll < 0.35:
        return topic(dice, dice.pick(of_kind("portable", "losable"))), _spot(dice, ("surface", "container"))
    if roll < 0.45:
        return topic(dice, dice.pick(of_kind("pet"))), _spot(dice, ("surface", "room"))
    if roll < 0.6:
        return topic(dice, dice.pick(of_kind("building", "business"))), _spot(dice, ("building", "place"))
    place = dice.pick(places(dice.pick(("place", "room", "city", "country", "workplace"))))
    en, es = place_phrase(place, "at")
    return subject(dice), (en, f"en {es}")


def whereabouts(dice: Dice) -> Pair | None:
    """ "The keys are on the table.", "Ana wasn't at home yesterday." """
    who, (en, es) = _whereabouts(dice)
    mood, tense = dice.pick(MOODS), dice.pick(COPULA_TENSES)
    if (
        asks_self(mood, who)
        or (who.noun and who.noun.english in en)
        or tense == "going to"
        or (who.noun and tense == "future")
    ):
        return None
    said = Predicate("be", "estar", en, es, state=True)
    if who.noun is None and dice.chance(0.4):
        said = said.longer(*dice.pick(AT_TIMES[tense]))
    return finished(*clause(who, said, Shape(tense, mood)), mark(mood))


def existence(dice: Dice) -> Pair | None:
    """ "There is a cat under the table.", "Are there many tourists in the museum?" """
    roll = dice.roll()
    if roll < 0.45:
        noun, (en, es) = dice.pick(of_kind("portable", "losable")), _spot(dice, ("surface", "container"))
    elif roll < 0.6:
        noun, (en, es) = dice.pick(of_kind("building", "business")), _spot(dice, ("building", "place"))
    else:
        kind, where = dice.pick(
            (("job", "place"), ("general", "place"), ("pet", "room"), ("farmanimal", "pasture"))
        )
        noun, place = dice.pick(of_kind(kind)), dice.pick(places(where))
        en, es = place_phrase(place, "at")
        es = f"en {es}"
    if noun.english in en:
        return None
    return _there(dice, noun, dice.pick(MOODS), (en, es))


def _there(dice: Dice, noun: Noun, mood: str, where: Pair) -> Pair:
    """ "There is", "there were no", "are there many"; hay and había have no plural form."""
    many = noun.count == "plural" or mood == NEGATIVE or dice.chance(0.6)
    past = dice.chance(0.3)
    be = ("were" if many else "was") if past else ("are" if many else "is")
    hay = "había" if past else "hay"
    if mood == NEGATIVE:
        what = noun_phrase("", noun, many)
        return finished(f"there {be} no {what.english} {where[0]}", f"no {hay} {what.spanish} {where[1]}")
    words = ("", "many") if mood == QUESTION else ("", "some", "many", "several", *NUMBERS)
    if noun.count == "plural":  # nobody counts scissors
        words = ("", "some") if mood == STATEMENT else ("",)
    what = noun_phrase(dice.pick(words) if many else "a", noun, many)
    first = (be, "there") if mood == QUESTION else ("there", be)
    return finished(join(*first, what.english, where[0]), join(hay, what.spanish, where[1]), mark(mood))


def weather(dice: Dice) -> Pair | None:
    """ "It is cold in Madrid.", "It rained a lot yesterday." """
    if dice.chance(0.6):
        row, tense = dice.pick(rows("weather")), dice.pick(("present", "past"))
        said = Predicate("be", row["verb"], row["english"], row["spanish"], state=True)
        times = AT_TIMES[tense]
    else:
        verb, tense = (
            dice.pick((("rain", "llover"), ("snow", "nevar"))),
            dice.pick(("past", "going to", "progressive")),
        )
        said = Predicate(*verb, *dice.pick((("", ""), ("a lot", "mucho"))))
        times = AT_TIMES[{"past": "past", "going to": "future", "progressive": "present"}[tense]]
    if dice.chance(0.6):
        en, es = place_phrase(dice.pick(places("city", "country")), "at")
        said = said.longer(en, f"en {es}")
    mood = dice.pick(MOODS)
    said = said.longer(*dice.pick((("", ""), *times)))
    return finished(*clause(IT, said, Shape(tense, mood)), mark(mood))


def _when(dice: Dice) -> Pair:
    """Draw an hour, a day or a month."""
    if dice.chance(0.5):
        row = dice.pick(rows("numbers")[:12])
        return f"at {row['english']} o'clock", "a la una" if row[
            "value"
        ] == "1" else f"a las {row['spanish']}"
    row = dice.pick(rows("calendar"))
    if row["kind"] == "day":
        return f"on {row['english']}", f"el {row['spanish']}"
    return f"in {row['english']}", f"en {row['spanish']}"


def hour(dice: Dice) -> Pair | None:
    """ "The party is at nine o'clock.", "Does the class begin in March?" """
    what = topic(dice, dice.pick(of_kind("event", "party", "session")))
    verb = dice.pick((("be", "ser"), ("begin", "empezar"), ("end", "terminar")))
    mood, tense = dice.pick(MOODS), dice.pick(("present", "future"))
    return finished(*clause(what, Predicate(*verb, *_when(dice)), Shape(tense, mood)), mark(mood))


def clock(dice: Dice) -> Pair | None:
    """ "It is three o'clock.", "Today is Monday.", "Is it ten o'clock?" """
    row = dice.pick(rows("numbers")[:12])
    mood = dice.pick(MOODS)
    hours = f"la {row['spanish'][:-1]}a" if row["value"] == "1" else f"las {row['spanish']}"
    en, es = dice.pick((("", ""), ("half past", "y media"), ("quarter past", "y cuarto")))
    if en:
        said = Predicate("be", "ser", f"{en} {row['english']}", f"{hours} {es}", state=True)
    else:
        said = Predicate("be", "ser", f"{row['english']} o'clock", hours, state=True)
    subject_ = IT if row["value"] == "1" else IT._replace(person=4)
    english_side = clause(IT, said, Shape(dice.pick(("present",)), mood))[0]
    return finished(english_side, clause(subject_, said, Shape("present", mood))[1], mark(mood))


def _years(dice: Dice, who: Phrase) -> dict[str, str]:
    """Draw an age that fits the person: a boy is not sixty, and a doctor is not three."""
    kinds = who.noun.kinds if who.noun else ()
    low, high = (
        (5, 14) if "child" in kinds else (40, 90) if "parent" in kinds else (18, 90) if kinds else (10, 90)
    )
    return dice.pick([row for row in rows("numbers") if low <= int(row["value"]) <= high])


def age(dice: Dice) -> Pair | None:
    """ "Ana is ten years old.": "Ana tiene diez años."; "How old is Ana?" """
    who, mood, tense = subject(dice), dice.pick(MOODS), dice.pick(("present", "present", "past"))
    if asks_self(mood, who) or (who.many and who.noun):
        return None
    if mood == QUESTION:
        shape = Shape(tense, QUESTION, asked=("how old", "cuántos años"))
        return finished(*clause(who, Predicate("be", "tener", state=True), shape), "?")
    row = _years(dice, who)
    said = Predicate("be", "tener", f"{row['english']} years old", f"{row['spanish']} años", state=True)
    return finished(*clause(who, said, Shape(tense, mood)))
