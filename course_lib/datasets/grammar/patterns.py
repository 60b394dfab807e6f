"""Sentence patterns: actions, questions, descriptions, likes and feelings.

A pattern takes a random source and returns one sentence pair; it raises Nonsense if the draw makes no sense.
"""

import re

from course_lib.datasets.grammar import english, phrases, predicates, spanish
from course_lib.datasets.grammar.clauses import (
    Predicate,
    Shape,
    any_mood,
    bare,
    be,
    clause,
    finished,
    sentence,
)
from course_lib.datasets.grammar.lexicon import Adjective, Entry, Noun
from course_lib.datasets.grammar.phrases import NOTHING, Dice, Pair, Phrase, join, noun_phrase, require
from course_lib.datasets.grammar.predicates import HABITS, YOU, predicate, scene, subject, timed, verbs_with

LIKED = ("food", "drink", "dish", "fruit", "pet", "sport", "subject", "clothes", "plant", "farmanimal")
SEEN = ("clothes", "reading", "show", "song", "vehicle", "furniture", "gift")
BELONGINGS = ("portable", "clothes", "vehicle", "pet", "furniture", "readable")
HOMES = (("losable", ""), ("portable", ""), ("job", "place"), ("pet", "room"), ("farmanimal", "pasture"))


# Actions


def statement(dice: Dice) -> Pair:
    """ "Yesterday Ana bought a book.", "We often sing." """
    verb, doer, tense, said = scene(dice, "open")
    adverb, opening = NOTHING, NOTHING
    if tense.english == "present" and verb.past == "event" and verb.habit != "none" and dice.chance(0.3):
        adverb = dice.words("adverbials", "frequency")
    elif tense.english == "perfect" and dice.chance(0.4):
        adverb = dice.words("expressions", "perfect_adverb")
    else:
        said, opening = timed(dice, verb, tense, said)
    return sentence(doer, said, Shape(tense.english, adverb=adverb), opening)


def denial(dice: Dice) -> Pair:
    """ "Ana didn't buy the book." """
    verb, doer, tense, said = scene(dice, "fixed")
    said, opening = timed(dice, verb, tense, said)
    require(opening == NOTHING or tense.time != "habit")
    return sentence(doer, said, Shape(tense.english, "negative"), opening)


def question(dice: Dice) -> Pair:
    """ "Did Ana buy the book?": in Spanish, a statement between question marks."""
    verb, doer, tense, said = scene(dice, "fixed")
    said, opening = timed(dice, verb, tense, said)
    require(opening == NOTHING and tense.english != "used to")
    return sentence(doer, said, Shape(tense.english, "question"))


def not_yet(dice: Dice) -> Pair:
    """ "Ana hasn't arrived yet." """
    verb = dice.pick(verbs_with("H"))
    doer = subject(dice, verb.subject)
    said = predicate(dice, verb, doer, "fixed", 0.0).longer("yet", "")
    return sentence(doer, said, Shape("perfect", "negative", adverb=("", "todavía")))


def _controlled(dice: Dice, control: Entry, said: Predicate, doer: Phrase) -> Pair:
    """The sentence with an infinitive that depends on another verb: "I want to read.", "Ana can't swim." """
    shape = any_mood(dice, *(("present", "past") if control.tense == "any" else (control.tense,)))
    require(control.mood in ("any", shape.mood))
    words = control.english, control.spanish, control.link
    return sentence(doer, said.governed(words, doer.person, control.tense != "past"), shape)


def willing(dice: Dice) -> Pair:
    """ "I want to read this book.", "Ana can't swim." """
    control = dice.entry("controls")
    verb, doer = dice.pick(verbs_with(control.uses)), subject(dice)
    said = predicate(dice, verb, doer, HABITS[verb.habit] if control.uses in "SL" else "fixed", 0.6)
    require(not said.clitic and "person" in verb.subject)
    if control.uses == "M" and not verb.manner and dice.chance(0.3):
        said = said.longer(*dice.words("adverbials", "future"))
    return _controlled(dice, control, said, doer)


def helping(dice: Dice) -> Pair:
    """ "I want to see her.", "Can you help me?": a pronoun that is attached to the Spanish infinitive."""
    doer, control = subject(dice), dice.entry("controls")
    require(control.uses == "M")
    said = predicates.pronoun_object(dice, dice.pick(verbs_with("O")), doer)
    return _controlled(dice, control, said, doer)


def order(dice: Dice) -> Pair:
    """ "Open the window, please.", "Don't open the window." """
    said, negative = predicate(dice, dice.pick(verbs_with("I")), YOU, "fixed", 0.5), dice.chance(0.4)
    require(not said.clitic)
    please = (", please", ", por favor") if dice.chance(0.5) else NOTHING
    en = join("don't" if negative else "", said.english, said.english_tail)
    es = join(spanish.command(said.spanish, negative), said.spanish_tail)
    return finished(en + please[0], es + please[1])


def giving(dice: Dice) -> Pair:
    """ "Ana gave me the book.", "I sent a letter to my brother.": "le" doubles a recipient that is a noun."""
    verb, doer, shape = dice.entry("givings"), subject(dice), any_mood(dice, "present", "past", "perfect")
    style = "open" if shape.mood == "statement" and shape.tense != "present" else "fixed"
    given = predicates.thing(dice, dice.noun(*verb.object), doer, style)
    taker = predicates.somebody(dice, doer)
    if taker.clitic in ("me", "te", "nos"):
        tail = f"{taker.object} {given.english}", given.spanish, taker.clitic
    else:
        clitic, whom = spanish.DATIVES[taker.person], taker.object or taker.english
        tail = f"{given.english} to {whom}", f"{given.spanish} a {taker.strong or taker.spanish}", clitic
    return sentence(doer, Predicate(verb.english, verb.spanish, *tail), shape)


def portion(dice: Dice) -> Pair:
    """ "I want a glass of water.": "Quiero un vaso de agua." """
    measure, word = dice.entry("measures"), dice.pick(("a", "another", "two", "three"))
    noun, amount = dice.noun(*measure.kinds), noun_phrase(word, measure, word in phrases.NUMBERS)
    tail = f"{amount.english} of {noun.english}", f"{amount.spanish} de {noun.spanish}"
    said = Predicate(*dice.words("expressions", "portion"), *tail, state=True)
    return sentence(subject(dice), said, any_mood(dice, "present", "past"))


# Questions with a question word


def asked_what(dice: Dice) -> Pair:
    """ "What are you reading?", "Who did you see?": with the personal "a" or the verb's preposition."""
    verb = dice.pick(verbs_with("W"))
    tense = dice.pick(predicates.tenses(verb))
    said, _ = timed(dice, verb, tense, bare(verb))
    whom = "person" in verb.object
    asked = ("who", f"{verb.spanish_link or 'a'} quién") if whom else ("what", "qué")
    require(tense.asked == "yes")
    return sentence(subject(dice, verb.subject), said, Shape(tense.english, "question", asked))


def asked_where(dice: Dice) -> Pair:
    """ "Where did Ana buy the book?", "Why don't you sleep?" """
    asked = dice.words("expressions", "question_word")
    verb, doer, tense, said = scene(dice, "fixed", 0.0 if asked[0] == "where" else 0.3)
    sensible = {
        "where": verb.places and not verb.english_link and "room" not in verb.places,
        "when": verb.past != "state" and tense.time not in ("moment", "perfect"),
        "how often": verb.past != "state" and tense.english == "present" and verb.habit != "none",
        "why": True,
    }
    require(tense.asked == "yes" and bool(sensible[asked[0]]))
    negative = asked[0] == "why" and tense.time in ("habit", "moment") and dice.chance(0.4)
    return sentence(doer, said, Shape(tense.english, "negative" if negative else "question", asked))


def asked_who(dice: Dice) -> Pair:
    """ "Who broke the window?" """
    verb, who = dice.entry("verbs"), Phrase("who", "quién", own="their")
    tense = dice.pick(predicates.tenses(verb))
    said = predicate(dice, verb, who, HABITS[verb.habit] if tense.time == "habit" else "fixed")
    require(tense.asked == "yes" and "person" in verb.subject and "their" not in said.english_tail.split())
    said, _ = timed(dice, verb, tense, said)
    return finished(*clause(who, said, Shape(tense.english)), "?")


def ever(dice: Dice) -> Pair:
    """ "Have you ever eaten fish?" """
    verb = dice.pick(verbs_with("H"))
    said = predicate(dice, verb, YOU, "general" if verb.habit == "kind" else "fixed", 0.0)
    en, es = clause(YOU, said, Shape("perfect", "question", adverb=("ever", "")))
    return finished(en, f"alguna vez {es}", "?")


def asked_being(dice: Dice) -> Pair:
    """ "Where are my keys?", "Where is Ana from?", "How old is your mother?" """
    row, who, tense = dice.entry("being"), subject(dice), "present"
    if row.thing == "yes" and dice.chance(0.7):
        who, tense = topic(dice, dice.noun("losable")), dice.pick(("present", "past"))
    return sentence(who, be(row.copula, row.tail), Shape(tense, "question", (row.english, row.spanish)))


# Descriptions


def topic(dice: Dice, noun: Noun) -> Phrase:
    """Draw a phrase for a thing or an animal."""
    countable = noun.count == "count" and "place" not in noun.kinds
    many = noun.count == "plural" or (countable and dice.chance(0.4))
    words = ("the", "the", *phrases.pointing(many))
    if "common" not in noun.kinds:
        words += ("my", *phrases.POSSESSIVES)
    return noun_phrase("the" if noun.count == "single" else dice.pick(words), noun, many)


def _described(dice: Dice, kind: str) -> Phrase:
    """Draw someone or something of a kind."""
    return subject(dice, (kind,)) if kind in ("person", "man") else topic(dice, dice.noun(kind))


def _being(adjective: Adjective, who: Phrase, degree: Pair = NOTHING) -> Predicate:
    """The predicate "be" with an adjective, and its degree ("very") if given."""
    form = phrases.agree(adjective, who.gender, who.many)
    return be(adjective.copula, join(degree[0], adjective.english), join(degree[1], form))


def quality(dice: Dice) -> Pair:
    """ "Ana is tall.", "The soup isn't very hot.", "Are you tired?" """
    adjective = dice.entry("adjectives")
    who, graded = _described(dice, dice.pick(adjective.kinds)), adjective.graded == "yes"
    degree = dice.words("expressions", "degree") if graded and dice.chance(0.35) else NOTHING
    tenses = ("present", "past") if adjective.copula == "ser" else ("present", "present", "past", "future")
    return sentence(who, _being(adjective, who, degree), any_mood(dice, *tenses))


def opinion(dice: Dice) -> Pair:
    """ "I think that Ana is tired." """
    who, adjective = subject(dice), dice.entry("adjectives")
    other = _described(dice, dice.pick(adjective.kinds))
    require(other.person not in (who.person, 3) or bool(other.noun))
    en, es = clause(other, _being(adjective, other), Shape(dice.pick(("present", "past"))))
    return sentence(who, Predicate(*dice.words("expressions", "opinion"), f"that {en}", f"que {es}"), Shape())


def comparison(dice: Dice) -> Pair:
    """ "Ana is taller than Pedro.", "This car is as fast as that car." """
    adjective = dice.entry("adjectives")
    kind = dice.pick(adjective.kinds)
    first, human = _described(dice, kind), kind in ("person", "man")
    second = topic(dice, first.noun) if first.noun and not human else subject(dice, (kind,))
    require(adjective.graded == "yes" and adjective.copula == "ser" and kind != "place")
    require(first.english != second.english and (human or first.many == second.many))
    require(second.person != 3 and {first.person, second.person} not in ({0, 3}, {1, 3}))
    form, than = phrases.agree(adjective, first.gender, first.many), second.object or second.english
    en, es = f"{adjective.comparative} than {than}", f"más {form} que"
    if adjective.spanish_comparative:
        es = spanish.agree(adjective.spanish_comparative, "", "", "m", first.many) + " que"
    elif dice.chance(0.35):
        en, es = f"as {adjective.english} as {than}", f"tan {form} como"
    other = {"mí": "yo", "ti": "tú"}.get(second.strong, second.strong) or second.spanish
    return sentence(first, be("ser", en, f"{es} {other}"), any_mood(dice, "present"))


def profession(dice: Dice) -> Pair:
    """ "Ana is a doctor.": "Ana es doctora." """
    who, job = subject(dice), dice.entry("people", "job")
    require(bool(job.masculine and job.feminine) and not (who.many and who.gender == "f"))
    require(who.noun is None or not {"job", "child", "visitor"} & set(who.noun.kinds))
    form = job.feminine if who.gender == "f" else job.masculine
    words = f"{english.article(job.english)} {job.english}", form
    if who.many:
        words = job.plural, spanish.plural(form)
    return sentence(who, be("ser", *words), any_mood(dice, "present", "past"))


def kinship(dice: Dice) -> Pair:
    """ "Ana is my sister.", "He isn't our neighbor." """
    who, noun, shape = subject(dice), dice.noun("kin", "parent", "known"), any_mood(dice, "present")
    word = dice.pick(phrases.POSSESSIVES)
    require(who.person == 2 and who.noun is None and noun.gender == who.gender)
    require(shape.mood != "question" or word not in ("my", "our"))
    return sentence(who, be("ser", *noun_phrase(word, noun)[:2]), shape)


def this_is(dice: Dice) -> Pair:
    """ "This is my book.", "Those aren't Ana's shoes." """
    noun, shape = dice.noun(*BELONGINGS), any_mood(dice, "present")
    many = noun.count == "plural" or "pairs" in noun.kinds or dice.chance(0.4)
    word, owner = dice.pick(phrases.pointing(many)), dice.pick(phrases.POSSESSIVES)
    require("common" not in noun.kinds)
    this = Phrase(word, phrases.determiner(word, noun.gender, many), 4 if many else 2)
    what = noun_phrase(owner, noun, many)
    if dice.chance(0.3):
        what = phrases.possessed(dice.pick(phrases.names()), noun, many)
    return sentence(this, be("ser", what.english, what.spanish), shape)


def origin(dice: Dice) -> Pair:
    """ "Ana is from Mexico." """
    en, es = phrases.place_phrase(dice.entry("places", "city", "country"), "")
    return sentence(subject(dice), be("ser", f"from {en}", f"de {es}"), any_mood(dice, "present"))


def _spot(dice: Dice) -> Pair:
    """Draw a place relative to a thing: "under the table"."""
    noun = dice.noun("surface", "container")
    preposition = dice.entry("prepositions", *noun.kinds)
    where = noun_phrase(dice.pick(("the", "the", "my", "this", "that")), noun)
    return f"{preposition.english} {where.english}", f"{preposition.spanish} {where.spanish}"


def whereabouts(dice: Dice) -> Pair:
    """ "The keys are on the table.", "Ana wasn't at home yesterday." """
    if dice.chance(0.4):
        who, said = topic(dice, dice.noun("losable", "pet")), be("estar", *_spot(dice))
        return sentence(who, said, any_mood(dice, "present", "past"))
    kind, shape = dice.pick(("place", "room", "city", "country")), any_mood(dice, "present", "past", "future")
    said = be("estar", *phrases.location(dice, kind))
    if dice.chance(0.4):
        said = said.longer(*dice.words("expressions", shape.tense))
    return sentence(subject(dice), said, shape)


def existence(dice: Dice) -> Pair:
    """ "There is a cat under the table.", "Are there any nurses in the park?" """
    kind, home = dice.pick(HOMES)
    noun, shape = dice.noun(kind), any_mood(dice, "present", "present", "past")
    where, donde = phrases.location(dice, home) if home else _spot(dice)
    require(noun.english not in where and noun.count == "count")
    many = shape.mood == "negative" or dice.chance(0.6)
    some = dice.pick(("some", "many", "several", *phrases.NUMBERS)) if shape.mood == "statement" else "any"
    what = noun_phrase(some if many else "a", noun, many)
    said = Predicate("be", "there be", f"{what.english} {where}", f"{what.spanish} {donde}", state=True)
    return sentence(Phrase("there", "", what.person), said, shape)


def weather(dice: Dice) -> Pair:
    """ "It is cold in Madrid.", "It was raining yesterday." """
    row, shape = dice.entry("weather"), any_mood(dice, "present", "past")
    said = be(row.verb, row.english, row.spanish)
    if dice.chance(0.6):
        said = said.longer(*phrases.location(dice, "city", "country"))
    if dice.chance(0.6):
        said = said.longer(*dice.words("expressions", shape.tense))
    return sentence(Phrase("it", ""), said, shape)


def hour(dice: Dice) -> Pair:
    """ "The party is at nine o'clock.", "Does the class begin in March?" """
    what, when = topic(dice, dice.noun("event", "party", "session")), dice.words("calendar")
    said = Predicate(*dice.words("expressions", "schedule"), *when)
    return sentence(what, said, any_mood(dice, "present", "future"))


def age(dice: Dice) -> Pair:
    """ "Ana is twenty years old.": "Ana tiene veinte años." """
    who, number = subject(dice), dice.entry("numbers")
    kinds = who.noun.kinds if who.noun else ()
    lowest, highest = (5, 14) if "child" in kinds else (40, 90) if "parent" in kinds else (18, 90)
    require(lowest <= int(number.value) <= highest and not (who.many and who.noun))
    said = be("tener", f"{number.english} years old", f"{number.spanish} años")
    return sentence(who, said, any_mood(dice, "present", "past"))


# Likes and feelings


def _experience(who: Phrase, said: Predicate, felt: Phrase, shape: Shape, part: Phrase | None = None) -> Pair:
    """The sentence with a verb like gustar, whose Spanish subject is felt: "a Ana le gustan las manzanas".

    "a Ana" is dropped with me, te and nos. part: the English subject if it is not the person ("my head").
    """
    whom = re.sub(" yo$", " mí", f"a {who.strong or who.spanish}".replace(" y ", " y a "))
    felt_by = Phrase("", "" if who.clitic in ("me", "te", "nos") else whom, felt.person)
    dative = said._replace(spanish_tail=felt.spanish, clitic=spanish.DATIVES[who.person])
    require(shape.mood != "question" or who.person not in (0, 3))
    en, es = clause(part or who, said, shape)[0], clause(felt_by, dative, shape)[1]
    return finished(en, es, "?" if shape.mood == "question" else ".")


def liking(dice: Dice) -> Pair:
    """ "Ana likes apples.", "Do you like this song?": "A Ana le gustan las manzanas." """
    who, shape = subject(dice), any_mood(dice, "present", "past")
    en, es = dice.words("expressions", "taste")
    noun = dice.noun(*(LIKED if shape.tense == "present" else SEEN))
    many = noun.count == "count" and ("pairs" in noun.kinds or shape.tense == "present" or dice.chance(0.4))
    word = "generic" if shape.tense == "present" else dice.pick(phrases.pointing(many))
    liked = noun_phrase(word, noun, many)
    require(en != "love" or shape.mood == "statement")
    return _experience(who, Predicate(en, es, liked.english), liked, shape)


def liking_to(dice: Dice) -> Pair:
    """ "I like to swim.", "Ana would like to travel to Peru." """
    who, verb, shape = subject(dice), dice.pick(verbs_with("L")), any_mood(dice, "present", "conditional")
    would = shape.tense == "conditional"
    said = predicate(dice, verb, who, "fixed" if would else HABITS[verb.habit], 0.7)
    require(not said.clitic and "person" in verb.subject and not (would and shape.mood == "negative"))
    infinitive = join(spanish.infinitive_group(said.spanish, said.clitic, who.person), said.spanish_tail)
    swim = Phrase(join("to", said.english, said.english_tail), infinitive)
    liked = Predicate("like", "gustar", swim.english)
    if would:
        liked = Predicate("would", "gustar", f"like {swim.english}")
    return _experience(who, liked, swim, shape)


def aching(dice: Dice) -> Pair:
    """ "My head hurts.": "Me duele la cabeza." """
    who, noun, shape = subject(dice), dice.noun("body", "bodies"), any_mood(dice, "present", "past")
    part = noun_phrase("the", noun, "bodies" in noun.kinds)
    mine = part._replace(english=part.english.replace("the", who.own if who.clitic else f"{who.english}'s"))
    unclear = part.many and shape == Shape("past")  # "my feet hurt" is the present
    require(who.noun is None and not who.many and not unclear)
    return _experience(who, Predicate("hurt", "doler", state=True), part, shape, mine)


def feeling(dice: Dice) -> Pair:
    """ "I am very hungry.": "Tengo mucha hambre." """
    felt, much = dice.entry("feelings"), dice.chance(0.4)
    words = felt.english, felt.spanish
    if much:
        words = f"very {felt.english}", f"{'mucha' if felt.gender == 'f' else 'mucho'} {felt.spanish}"
    return sentence(subject(dice), be("tener", *words), any_mood(dice, "present", "past"))


def reason(dice: Dice) -> Pair:
    """ "I slept because I was tired.": "Dormí porque estaba cansado." """
    who, cause = dice.pick(predicates.SUBJECTS), dice.entry("reasons")
    shape = Shape(dice.pick(("present", "past")))
    verb = dice.pick([one for one in verbs_with("P") if one.english.replace(" ", "_") in cause.deeds])
    said = predicate(dice, verb, who, HABITS[verb.habit], 0.3).longer("because", "porque")
    require("person" in verb.subject)
    tired = spanish.agree(cause.spanish, "", "", who.gender, who.many)
    state = be(cause.copula, cause.english, tired if cause.copula == "estar" else cause.spanish)
    (en, es), because = clause(who, said, shape), clause(who._replace(spanish=""), state, shape)
    return finished(f"{en} {because[0]}", f"{es} {because[1]}")
