"""Sentence patterns with "be": qualities, comparisons, owners, places, times and ages."""

from course_lib.datasets.grammar import clauses, english, lexicon, phrases, spanish
from course_lib.datasets.grammar.clauses import MOODS, QUESTION, Pair, Predicate, be, finished, mark, sentence
from course_lib.datasets.grammar.lexicon import Adjective, Noun, adjectives, entries, expressions
from course_lib.datasets.grammar.phrases import Dice, Phrase, agree, join, location, noun_phrase, require
from course_lib.datasets.grammar.predicates import subject

COPULA_TENSES = ("present", "present", "present", "past", "past", "future", "going to")
NOW_OR_PAST = ("present", "present", "past")
BELONGINGS = ("portable", "clothes", "vehicle", "pet", "furniture", "readable")
IT = Phrase("it", "")


def topic(dice: Dice, noun: Noun) -> Phrase:
    """Draw a phrase for a thing or an animal."""
    one = noun.count != "count" or {"place", "meal"} & set(noun.kinds)
    many = noun.count == "plural" or (not one and dice.chance(0.35))
    words = ("the", "the", dice.pick(phrases.pointing(many)))
    if noun.count == "single":
        words = ("the",)
    elif "common" not in noun.kinds:
        words += ("my", "your", dice.pick(("his", "her", "our", "their")))
    return noun_phrase(dice.pick(words), noun, many)


def one_quality(dice: Dice) -> tuple[Phrase, Adjective]:
    """Draw someone or something, and an adjective that fits."""
    adjective = dice.pick(adjectives())
    kind = dice.pick(adjective.kinds)
    who = subject(dice, (kind,)) if kind in ("person", "man") else topic(dice, dice.noun(kind))
    return who, adjective


def being(adjective: Adjective, who: Phrase, degree: Pair = clauses.NOTHING) -> Predicate:
    """The predicate "be" with an adjective, and its degree ("very") if given."""
    form = agree(adjective, who.gender, who.many)
    return be(adjective.copula, join(degree[0], adjective.english), join(degree[1], form))


def quality(dice: Dice) -> Pair:
    """ "Ana is tall.", "The soup isn't very hot.", "Are you tired?" """
    who, adjective = one_quality(dice)
    mood, tense = dice.pick(MOODS), dice.pick(COPULA_TENSES)
    require(not clauses.asks_self(mood, who))
    require(adjective.copula != "ser" or tense in ("present", "past"))
    graded = adjective.graded == "yes" and dice.chance(0.35)
    degree = dice.expression("degree") if graded else clauses.NOTHING
    return sentence(who, being(adjective, who, degree), tense, mood)


def two_qualities(dice: Dice) -> Pair:
    """ "Ana is tall and strong.", "We are tired but happy." """
    copula = dice.pick(("ser", "estar"))
    fitting = [one for one in adjectives() if one.copula == copula and "person" in one.kinds]
    who, first, second = subject(dice), dice.pick(fitting), dice.pick(fitting)
    require(first != second and second.graded == "yes")
    require(first.english.islower() and second.english.islower())
    link = ("but", "pero") if {first.tone, second.tone} == {"good", "bad"} else ("and", "y")
    said = being(first, who).longer(*link)
    said = said.longer(second.english, agree(second, who.gender, who.many))
    return sentence(who, said, dice.pick(("present", "past")))


def _compared(dice: Dice) -> tuple[Adjective, Phrase, Phrase]:
    """Draw an adjective, and two people or things that it can compare."""
    adjective = dice.pick([one for one in adjectives() if one.graded == "yes" and one.copula == "ser"])
    kinds = [kind for kind in adjective.kinds if kind not in ("person", "man", "place")]
    if {"person", "man"} & set(adjective.kinds) and (not kinds or dice.chance(0.6)):
        who = ("man",) if "man" in adjective.kinds else ("person",)
        return adjective, subject(dice, who), subject(dice, who)
    kind = dice.pick(kinds)
    noun = dice.noun(kind)
    return adjective, topic(dice, noun), topic(dice, dice.noun(kind))


def _comparative(dice: Dice, adjective: Adjective, who: Phrase) -> Pair:
    """Draw a comparative construction: "taller than", "as tall as", "less modern than"."""
    form = agree(adjective, who.gender, who.many)
    if dice.chance(0.35):
        return f"as {adjective.english} as", f"tan {form} como"
    if adjective.spanish_comparative:
        better = spanish.agree(adjective.spanish_comparative, "", "", "m", who.many)
        return f"{adjective.comparative} than", f"{better} que"
    if adjective.comparative.startswith("more") and dice.chance(0.3):
        return f"less {adjective.english} than", f"menos {form} que"
    return f"{adjective.comparative} than", f"más {form} que"


def comparison(dice: Dice) -> Pair:
    """ "Ana is taller than Pedro.", "This car is as fast as that car." """
    adjective, first, second = _compared(dice)
    require(first.english != second.english)
    require({first.person, second.person} not in ({3}, {0, 3}, {1, 3}))
    en, es = _comparative(dice, adjective, first)
    mood = dice.pick(MOODS)
    require(not second.english.endswith(" I"))  # "than Ana and I" sounds bookish
    require(first.noun is None or first.noun != second.noun)
    other = {"mí": "yo", "ti": "tú"}.get(second.strong, second.strong) or second.spanish
    return sentence(first, be("ser", join(en, second.object or second.english), join(es, other)), mood=mood)


def profession(dice: Dice) -> Pair:
    """ "Ana is a doctor.": "Ana es doctora." """
    jobs = [one for one in entries("people") if one.kinds == ("job",) and one.masculine and one.feminine]
    who, job = subject(dice), dice.pick(jobs)
    mood, tense = dice.pick(MOODS), dice.pick(NOW_OR_PAST)
    require(not (who.many and who.gender == "f"))
    require(who.noun is None or not {"job", "child", "visitor"} & set(who.noun.kinds))
    form = job.feminine if who.gender == "f" else job.masculine
    if who.many:
        return sentence(who, be("ser", english.plural(job.english), spanish.plural(form)), tense, mood)
    return sentence(who, be("ser", f"{english.article(job.english)} {job.english}", form), tense, mood)


def kinship(dice: Dice) -> Pair:
    """ "Ana is my sister.", "He isn't our neighbor." """
    who, noun, mood = subject(dice), dice.noun("kin", "parent"), dice.pick(MOODS)
    require(who.person == 2 and who.noun is None and noun.gender == who.gender)
    owners = ("my", "your", "our", "his", "her", "their")
    owners = [word for word in owners if mood != QUESTION or word not in ("my", "our")]
    other = noun_phrase(dice.pick(owners), noun)
    return sentence(who, be("ser", other.english, other.spanish), mood=mood)


def _belonging(dice: Dice) -> tuple[Noun, bool]:
    """Draw something that can belong to someone, and whether it is plural."""
    noun = dice.pick([one for one in lexicon.of_kind(*BELONGINGS) if "common" not in one.kinds])
    return noun, noun.count == "plural" or "pairs" in noun.kinds or dice.chance(0.4)


def this_is(dice: Dice) -> Pair:
    """ "This is my book.", "Those aren't Ana's shoes." """
    noun, many = _belonging(dice)
    word = dice.pick(phrases.pointing(many))
    if dice.chance(0.35):
        what = phrases.possessed(dice.pick(phrases.names()), noun, many)
    else:
        what = noun_phrase(dice.pick(phrases.POSSESSIVES), noun, many)
    this = Phrase(word, phrases.determiner(word, noun.gender, many), 4 if many else 2)
    return sentence(this, be("ser", what.english, what.spanish), mood=dice.pick(MOODS))


def belonging(dice: Dice) -> Pair:
    """ "This book is mine.", "The letter is for Ana." """
    noun, many = _belonging(dice)
    what = noun_phrase(dice.pick(("the", *phrases.pointing(many))), noun, many)
    if dice.chance(0.5):
        en, es = dice.expression("possessive pronoun")
        said = be("ser", en, spanish.agree(es, "", "", what.gender, what.many))
    else:
        whom = dice.pick(phrases.PRONOUNS) if dice.chance(0.5) else phrases.human(dice)
        said = be("ser", f"for {whom.object or whom.english}", f"para {whom.strong or whom.spanish}")
    return sentence(what, said, mood=dice.pick(MOODS))


def origin(dice: Dice) -> Pair:
    """ "Ana is from Mexico." """
    who, (en, es) = subject(dice), phrases.place_phrase(dice.pick(lexicon.places("city", "country")), "")
    return sentence(who, be("ser", f"from {en}", f"de {es}"), mood=dice.pick(MOODS))


def _spot(dice: Dice, *kinds: str) -> Pair:
    """Draw a place relative to a thing: "under the table"."""
    noun = dice.noun(*kinds)
    preposition = dice.pick([one for one in entries("prepositions") if set(one.kinds) & set(noun.kinds)])
    words = ("the", "the", "the", "my", "your", "this", "that")
    where = noun_phrase("the" if "common" in noun.kinds else dice.pick(words), noun)
    return f"{preposition.english} {where.english}", f"{preposition.spanish} {where.spanish}"


def _someone_somewhere(dice: Dice) -> tuple[Phrase, Pair]:
    """Draw someone or something, and where it is."""
    roll = dice.roll()
    if roll < 0.35:
        return topic(dice, dice.noun("portable", "losable")), _spot(dice, "surface", "container")
    if roll < 0.45:
        return topic(dice, dice.noun("pet")), _spot(dice, "surface", "room")
    if roll < 0.6:
        return topic(dice, dice.noun("building", "business")), _spot(dice, "building", "place")
    where = location(dice, dice.pick(("place", "room", "city", "country", "workplace")))
    return subject(dice), where


def whereabouts(dice: Dice) -> Pair:
    """ "The keys are on the table.", "Ana wasn't at home yesterday." """
    who, where = _someone_somewhere(dice)
    mood, tense = dice.pick(MOODS), dice.pick(COPULA_TENSES)
    require(not clauses.asks_self(mood, who) and tense != "going to")
    require(who.noun is None or (who.noun.english not in where[0] and tense != "future"))
    said = be("estar", *where)
    if who.noun is None and dice.chance(0.4):
        said = said.longer(*dice.expression(f"{tense} time"))
    return sentence(who, said, tense, mood)


def _something_somewhere(dice: Dice) -> tuple[Noun, str, str]:
    """Draw a kind of thing, animal or person, and where there may be some."""
    roll = dice.roll()
    if roll < 0.45:
        return dice.noun("portable", "losable"), *_spot(dice, "surface", "container")
    if roll < 0.6:
        return dice.noun("building", "business"), *_spot(dice, "building", "place")
    homes = (("job", "place"), ("general", "place"), ("pet", "room"), ("farmanimal", "pasture"))
    kind, home = dice.pick(homes)
    return dice.noun(kind), *location(dice, home)


def existence(dice: Dice) -> Pair:
    """ "There is a cat under the table.", "Are there many tourists?"; hay and había have no plural form."""
    noun, where, donde = _something_somewhere(dice)
    require(noun.english not in where)
    mood = dice.pick(MOODS)
    many = noun.count == "plural" or mood == clauses.NEGATIVE or dice.chance(0.6)
    singular, plural, hay = ("was", "were", "había") if dice.chance(0.3) else ("is", "are", "hay")
    copula = plural if many else singular
    if mood == clauses.NEGATIVE:
        what = noun_phrase("", noun, many)
        return finished(f"there {copula} no {what.english} {where}", f"no {hay} {what.spanish} {donde}")
    words = ("", "many") if mood == QUESTION else ("", "some", "many", "several", *phrases.NUMBERS)
    if noun.count == "plural":  # nobody counts scissors
        words = ("", "some") if mood == clauses.STATEMENT else ("",)
    what = noun_phrase(dice.pick(words) if many else "a", noun, many)
    there = f"{copula} there" if mood == QUESTION else f"there {copula}"
    return finished(join(there, what.english, where), join(hay, what.spanish, donde), mark(mood))


def weather(dice: Dice) -> Pair:
    """ "It is cold in Madrid.", "It rained a lot yesterday." """
    if dice.chance(0.6):
        row, tense = dice.entry("weather"), dice.pick(("present", "past"))
        said, time = be(row.verb, row.english, row.spanish), tense
    else:
        verb = dice.expression("precipitation")
        tense, time = dice.pick((("past", "past"), ("going to", "future"), ("progressive", "present")))
        said = Predicate(*verb, *dice.expression("amount of rain"))
    if dice.chance(0.6):
        said = said.longer(*location(dice, "city", "country"))
    mood = dice.pick(MOODS)
    return sentence(IT, said.longer(*dice.pick((clauses.NOTHING, *expressions(f"{time} time")))), tense, mood)


def hour(dice: Dice) -> Pair:
    """ "The party is at nine o'clock.", "Does the class begin in March?" """
    what = topic(dice, dice.noun("event", "party", "session"))
    verb, mood, tense = dice.expression("schedule"), dice.pick(MOODS), dice.pick(("present", "future"))
    kind = "hour" if dice.chance(0.5) else "date"
    when = dice.pick([one for one in entries("calendar") if one.kind == kind])
    return sentence(what, Predicate(*verb, when.english, when.spanish), tense, mood)


def _age_range(who: Phrase) -> range:
    """Ages that fit the person: a boy is not sixty, and a doctor is not three."""
    kinds = who.noun.kinds if who.noun else ()
    if "child" in kinds:
        return range(5, 15)
    return range(40 if "parent" in kinds else 18 if kinds else 10, 91)


def age(dice: Dice) -> Pair:
    """ "Ana is ten years old.": "Ana tiene diez años."; "How old is Ana?" """
    who, mood, tense = subject(dice), dice.pick(MOODS), dice.pick(NOW_OR_PAST)
    require(not clauses.asks_self(mood, who) and not (who.many and who.noun))
    if mood == QUESTION:
        return clauses.wh_question(("how old", "cuántos años"), who, be("tener"), tense)
    number = dice.pick([one for one in entries("numbers") if int(one.value) in _age_range(who)])
    said = be("tener", f"{number.english} years old", f"{number.spanish} años")
    return sentence(who, said, tense, mood)
