"""Clauses in both languages: subject, verb group and the rest, in the word order of the mood."""

from typing import NamedTuple

from course_lib.datasets.grammar import english, spanish
from course_lib.datasets.grammar.lexicon import Entry
from course_lib.datasets.grammar.phrases import NOTHING, Dice, Pair, Phrase, join, require

MOODS = ("statement", "statement", "statement", "negative", "question")


class Predicate(NamedTuple):
    """A verb and what follows it, before tense and person are chosen.

    english, spanish: base form and infinitive. clitic: the Spanish object pronoun beside the verb.
    state: whether the simple past becomes the Spanish imperfect ("knew", "sabía").
    """

    english: str
    spanish: str
    english_tail: str = ""
    spanish_tail: str = ""
    clitic: str = ""
    state: bool = False

    def longer(self, en: str, es: str) -> "Predicate":
        """Return a copy with more words at the end."""
        en, es = join(self.english_tail, en), join(self.spanish_tail, es)
        return self._replace(english_tail=en, spanish_tail=es)

    def governed(self, verb: tuple[str, str, str], person: int, state: bool) -> "Predicate":
        """Return this as an infinitive, with its pronoun attached, after another verb: "quiero verlo".

        verb: English ("want to", "can"), Spanish, and the Spanish linking word ("que", "a", "").
        """
        first, _, to = verb[0].partition(" ")
        infinitive = spanish.infinitive_group(self.spanish, self.clitic, person)
        en, es = join(to, self.english, self.english_tail), join(verb[2], infinitive, self.spanish_tail)
        return Predicate(first, verb[1], en, es, state=state)


class Shape(NamedTuple):
    """What turns a predicate into a clause; asked: the question word; adverb: beside the verb."""

    tense: str = "present"
    mood: str = "statement"
    asked: Pair = NOTHING
    adverb: Pair = NOTHING


def any_mood(dice: Dice, *tenses: str) -> Shape:
    """Draw one of these tenses, and a mood."""
    return Shape(dice.pick(tenses), dice.pick(MOODS))


def bare(verb: Entry, en: str = "", es: str = "", clitic: str = "") -> Predicate:
    """The predicate of a verb in the lexicon, with these words at its end."""
    return Predicate(verb.english, verb.spanish, en, es, clitic, state=verb.past == "state")


def be(copula: str, en: str = "", es: str = "") -> Predicate:
    """The predicate "be", in Spanish ser, estar or tener, with its complement."""
    return Predicate("be", copula, en, es, state=True)


def english_clause(subject: Phrase, predicate: Predicate, shape: Shape) -> str:
    """Build the English clause, with do-support and inversion where the mood requires them."""
    auxiliary, negative, main, plain = english.verb_group(predicate.english, shape.tense, subject.person)
    adverb, asked, tail = shape.adverb[0], shape.asked[0], predicate.english_tail
    first = negative if shape.mood == "negative" else auxiliary
    if asked or shape.mood == "question":
        return join(asked, first, subject.english, adverb, main, tail)
    if plain and shape.mood == "statement":
        return join(subject.english, adverb, plain, tail)
    return join(subject.english, first, adverb, main, tail)


def spanish_clause(subject: Phrase, predicate: Predicate, shape: Shape) -> str:
    """Build the Spanish clause; after a question word, the subject follows the verb (and its adjective)."""
    past_state = shape.tense == "past" and predicate.state
    tense = "imperfect" if past_state or shape.tense == "used to" else shape.tense
    group = spanish.verb_group(predicate.spanish, tense, subject.person, predicate.clitic)
    verb = join(shape.adverb[1], "no" if shape.mood == "negative" else "", group)
    if not shape.asked[1]:
        return join(subject.spanish, verb, predicate.spanish_tail)
    rest = (subject.spanish, predicate.spanish_tail)
    return join(shape.asked[1], verb, *(rest[::-1] if predicate.spanish in ("ser", "estar") else rest))


def clause(subject: Phrase, predicate: Predicate, shape: Shape) -> Pair:
    """The clause in small letters and without its closing mark; Nonsense for questions about "I" or "we"."""
    require(subject.person not in (0, 3) or not (shape.mood == "question" or shape.asked[0]))
    return english_clause(subject, predicate, shape), spanish_clause(subject, predicate, shape)


def finished(en: str, es: str, mark: str = ".") -> Pair:
    """Finish a sentence: contractions, a capital letter, punctuation (in Spanish also in front)."""
    es = spanish.contract(es)
    opening = {"?": "¿", "!": "¡"}.get(mark, "")
    return en[0].upper() + en[1:] + mark, opening + es[0].upper() + es[1:] + mark


def sentence(subject: Phrase, said: Predicate, shape: Shape, opening: Pair = NOTHING) -> Pair:
    """The finished sentence, with the words that open it ("yesterday"), if any."""
    en, es = clause(subject, said, shape)
    mark = "?" if shape.mood == "question" or shape.asked[0] else "."
    return finished(join(opening[0], en), join(opening[1], es), mark)
