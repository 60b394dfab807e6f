"""Sentence patterns: likes, pains, feelings, opinions and reasons."""

import re

from course_lib.datasets.grammar import clauses, phrases, spanish
from course_lib.datasets.grammar.clauses import MOODS, NEGATIVE, Pair, Predicate, Shape, clause, finished
from course_lib.datasets.grammar.lexicon import places, verbs
from course_lib.datasets.grammar.phrases import PRONOUNS, Dice, Phrase, join, noun_phrase, require
from course_lib.datasets.grammar.predicates import predicate, subject, tenses, verbs_with
from course_lib.datasets.grammar.states import NOW_OR_PAST, being, one_quality, topic

LIKED = "food drink dish fruit pet sport subject clothes plant hotdrink farmanimal".split()
SEEN = "clothes readable show song vehicle furniture city gift".split()


def _whom(who: Phrase) -> str:
    """The Spanish phrase "a Ana", which is dropped with me, te and nos; two people get an "a" each."""
    if who.clitic in ("me", "te", "nos"):
        return ""
    return re.sub(r" yo$", " mí", f"a {who.strong or who.spanish}".replace(" y ", " y a "))


def _experience(
    who: Phrase, said: Predicate, thing: Phrase, tense: str, mood: str, subject: Phrase | None = None
) -> Pair:
    """The sentence with a verb like gustar, whose subject is the thing: "a Ana le gustan las manzanas".

    subject: the English subject if it is not the person ("my head hurts").
    """
    require(not clauses.asks_self(mood, who))
    en = clauses.english_clause(subject or who, said, Shape(tense, mood))
    tense = clauses.spanish_tense(tense, said.state)
    verb = spanish.verb_group(said.spanish, tense, thing.person, spanish.DATIVES[who.person])
    es = join(_whom(who), "no" if mood == NEGATIVE else "", verb, thing.spanish)
    return finished(en, es, clauses.mark(mood))


def _liked(dice: Dice, who: Phrase) -> tuple[Phrase, bool]:
    """Draw what a person likes: a kind ("apples": "las manzanas"), or a particular thing (then True)."""
    if dice.chance(0.6):
        noun = dice.noun(dice.pick(LIKED))
        return noun_phrase("generic", noun, noun.count != "mass"), False
    kind = dice.pick(SEEN)
    if kind == "city":
        return Phrase(*phrases.place_phrase(dice.pick(places("city")), "")), True
    noun = dice.noun(kind)
    many = "pairs" in noun.kinds or dice.chance(0.35)
    words = phrases.pointing(many)
    if "common" not in noun.kinds and who.own in ("my", "your", "our"):
        words += ("my",) if who.own == "your" else ("your",)
    return noun_phrase(dice.pick(words), noun, many), True


def liking(dice: Dice) -> Pair:
    """ "Ana likes apples.": "A Ana le gustan las manzanas." """
    who, (en, es), mood = subject(dice), dice.expression("taste"), dice.pick(MOODS)
    liked, particular = _liked(dice, who)
    tense = "past" if particular and dice.chance(0.4) else "present"
    require(en != "love" or mood == clauses.STATEMENT)
    return _experience(who, Predicate(en, es, liked.english), liked, tense, mood)


def liking_to(dice: Dice) -> Pair:
    """ "I like to swim.", "Ana would like to travel to Peru." """
    who, verb, mood, would = subject(dice), dice.pick(verbs_with("L")), dice.pick(MOODS), dice.chance(0.4)
    said = predicate(dice, verb, who, "past" if would else "used to", "fixed", 0.7)
    require(not said.clitic and "person" in verb.subject and verb.past != "state")
    require(not (would and mood == NEGATIVE))
    infinitive = join(spanish.infinitive_group(said.spanish, said.clitic, who.person), said.spanish_tail)
    swim = Phrase(join("to", said.english, said.english_tail), infinitive)
    if would:
        liked = Predicate("would", "gustar", f"like {swim.english}")
        return _experience(who, liked, swim, "conditional", mood)
    return _experience(who, Predicate("like", "gustar", swim.english), swim, "present", mood)


def aching(dice: Dice) -> Pair:
    """ "My head hurts.": "Me duele la cabeza." """
    who, noun = subject(dice), dice.noun("body", "bodies")
    mood, tense = dice.pick(MOODS), dice.pick(NOW_OR_PAST)
    require(who.noun is None and bool(who.object or not who.many))
    part = noun_phrase("the", noun, "bodies" in noun.kinds)
    owner = who.own if who.clitic else f"{who.english}'s"
    mine = part._replace(english=part.english.replace("the", owner, 1))
    hurt = Predicate("hurt", "doler", state=True)
    require(tense == "present" or not clauses.bare_past(hurt, Shape(tense, mood), mine.person))
    return _experience(who, hurt, part, tense, mood, subject=mine)


def interest(dice: Dice) -> Pair:
    """ "Ana is interested in history.": "A Ana le interesa la historia." """
    who, noun = subject(dice), dice.noun("subject", "subject", "language", "plan", "trip")
    what = noun_phrase("generic", noun) if noun.count == "mass" else topic(dice, noun)
    said = Predicate("be", "interesar", f"interested in {what.english}")
    return _experience(who, said, what, "present", dice.pick(MOODS))


def feeling(dice: Dice) -> Pair:
    """ "I am very hungry.": "Tengo mucha hambre." """
    who, felt = subject(dice), dice.entry("feelings")
    mood, tense = dice.pick(MOODS), dice.pick(NOW_OR_PAST)
    require(not clauses.asks_self(mood, who))
    said = clauses.be("tener", felt.english, felt.spanish)
    if dice.chance(0.4):
        much = "mucha" if felt.gender == "f" else "mucho"
        said = clauses.be("tener", f"very {felt.english}", f"{much} {felt.spanish}")
    return clauses.sentence(who, said, tense, mood)


def _short_clause(dice: Dice) -> Pair:
    """Draw a short statement to embed in another sentence."""
    who, adjective = one_quality(dice)
    if not dice.chance(0.4):
        return clause(who, being(adjective, who), Shape(dice.pick(NOW_OR_PAST)))
    verb = dice.pick(verbs())
    who, shape = subject(dice, verb.subject), Shape(dice.pick(tenses(verb)))
    said = predicate(dice, verb, who, shape.tense, "fixed", 0.4)
    require(not clauses.bare_past(said, shape, who.person))
    return clause(who, said, shape)


def opinion(dice: Dice) -> Pair:
    """ "I think that Ana is tired." """
    who, inner, verb = subject(dice), phrases.attempt(_short_clause, dice), dice.expression("opinion")
    require(inner is not None)
    first = inner[0].split()[0]
    require(first not in (who.english, "that") and not (who.person in (0, 3) and first in ("I", "we")))
    mood = clauses.QUESTION if dice.chance(0.15) and who.person not in (0, 3) else clauses.STATEMENT
    return clauses.sentence(who, Predicate(*verb, f"that {inner[0]}", f"que {inner[1]}"), mood=mood)


def reason(dice: Dice) -> Pair:
    """ "I slept because I was tired.", "When I am sad, I sing." """
    who, cause = dice.pick(PRONOUNS), dice.entry("reasons")
    word = cause.spanish
    if cause.copula == "estar":
        word = spanish.agree(word, "", "", who.gender, who.many)
    state = clauses.be(cause.copula, cause.english, word)
    deeds = [one for one in verbs_with("P") if one.english.replace(" ", "_") in cause.deeds]
    verb, tense = dice.pick([one for one in deeds if "person" in one.subject]), dice.pick(("present", "past"))
    deed = predicate(dice, verb, who, tense, "fixed", 0.4)
    require(not deed.clitic or tense != "present")
    require(not clauses.bare_past(deed, Shape(tense), who.person))
    again = who._replace(spanish="")  # the second clause does not repeat "ella"
    if tense == "present":
        first, second = clause(who, state, Shape()), clause(again, deed, Shape())
        return finished(f"when {first[0]}, {second[0]}", f"cuando {first[1]}, {second[1]}")
    first, second = clause(who, deed, Shape(tense)), clause(again, state, Shape(tense))
    return finished(f"{first[0]} because {second[0]}", f"{first[1]} porque {second[1]}")
