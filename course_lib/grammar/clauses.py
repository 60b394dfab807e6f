"""Clauses in both languages: subject, verb group and tail in the order that the mood asks for."""

from typing import NamedTuple

from course_lib.grammar import english, spanish
from course_lib.grammar.phrases import Phrase, join

Pair = tuple[str, str]  # English, Spanish
STATEMENT, NEGATIVE, QUESTION = "statement", "negative", "question"
MOODS = (STATEMENT, STATEMENT, STATEMENT, NEGATIVE, QUESTION)


class Predicate(NamedTuple):
    """A verb with what follows it, before tense and person are chosen.

    english, spanish: base form and infinitive. clitic: the object pronoun that Spanish puts at the verb.
    state: the simple past is an imperfect in Spanish ("knew", "sabía").
    """

    english: str
    spanish: str
    english_tail: str = ""
    spanish_tail: str = ""
    clitic: str = ""
    state: bool = False

    def longer(self, en: str, es: str) -> "Predicate":
        """With more words at its end."""
        return self._replace(
            english_tail=join(self.english_tail, en), spanish_tail=join(self.spanish_tail, es)
        )


class Shape(NamedTuple):
    """What turns a predicate into a sentence: its tense, its mood and the words around the verb.

    adverb: English and Spanish of an adverb beside the verb ("always"). asked: the question word, if any.
    """

    tense: str = "present"
    mood: str = STATEMENT
    adverb: Pair = ("", "")
    asked: Pair = ("", "")


def bare_past(predicate: Predicate, shape: Shape, person: int) -> bool:
    """Whether the present statement reads like the past one: "I read the book", "they put"."""
    if shape.mood != STATEMENT or person == 2 or shape.tense not in ("present", "past"):
        return False
    return english.form(predicate.english, "past") == predicate.english


def spanish_tense(tense: str, state: bool) -> str:
    """The Spanish tense for an English one: "used to" and past states are imperfect."""
    if tense == "used to" or (tense == "past" and state):
        return "imperfect"
    return tense


def english_clause(subject: Phrase, predicate: Predicate, shape: Shape) -> str:
    """The English clause; do-support and inversion as the mood asks."""
    group = english.verb_group(predicate.english, shape.tense, subject.person)
    auxiliary, negative, main, plain = group
    adverb = shape.adverb[0]
    if shape.asked[0] or shape.mood == QUESTION:
        first = negative if shape.mood == NEGATIVE else auxiliary
        if first == "am not":
            return join(shape.asked[0], "am", subject.english, "not", adverb, main, predicate.english_tail)
        return join(shape.asked[0], first, subject.english, adverb, main, predicate.english_tail)
    if shape.mood == NEGATIVE:
        return join(subject.english, negative, adverb, main, predicate.english_tail)
    if plain:
        return join(subject.english, adverb, plain, predicate.english_tail)
    return join(subject.english, auxiliary, adverb, main, predicate.english_tail)


def spanish_clause(subject: Phrase, predicate: Predicate, shape: Shape) -> str:
    """The Spanish clause; after a question word the subject follows the verb, or a copula's adjective."""
    tense = spanish_tense(shape.tense, predicate.state)
    group = spanish.verb_group(predicate.spanish, tense, subject.person, predicate.clitic)
    verb = join(shape.adverb[1], "no" if shape.mood == NEGATIVE else "", group)
    if shape.asked[1] and predicate.spanish in ("ser", "estar"):
        return join(shape.asked[1], verb, predicate.spanish_tail, subject.spanish)
    if shape.asked[1]:
        return join(shape.asked[1], verb, subject.spanish, predicate.spanish_tail)
    return join(subject.spanish, verb, predicate.spanish_tail)


def clause(subject: Phrase, predicate: Predicate, shape: Shape) -> Pair:
    """The clause in English and Spanish, in small letters and without its closing mark."""
    return english_clause(subject, predicate, shape), spanish_clause(subject, predicate, shape)


def governed(verb: tuple[str, str, str], predicate: Predicate, person: int, state: bool) -> Predicate:
    """The predicate as an infinitive after another verb.

    verb: English ("want to", "can"), Spanish, and the Spanish word between ("que", "a", ""). state: as in
    Predicate. The pronoun of the infinitive is attached to it: "quiero verlo", "tengo que levantarme".
    """
    en, es, link = verb
    attached = spanish.infinitive_group(predicate.spanish, predicate.clitic, person)
    first, to, _ = en.partition(" to")
    return Predicate(
        first,
        es,
        join(to.strip(), predicate.english, predicate.english_tail),
        join(link, attached, predicate.spanish_tail),
        state=state,
    )


def finished(en: str, es: str, mark: str = ".") -> Pair:
    """The sentence: contractions, a capital letter, and the marks, which Spanish also puts in front."""
    es = spanish.contract(es)
    en = en[0].upper() + en[1:] + mark
    opening = {"?": "¿", "!": "¡"}.get(mark, "")
    return en, opening + es[0].upper() + es[1:] + mark


def mark(mood: str) -> str:
    """The closing mark of a sentence in a mood."""
    return "?" if mood == QUESTION else "."


def asks_self(mood: str, subject: Phrase) -> bool:
    """Whether a question would be about "I" or "we", which the grammar leaves out."""
    return mood == QUESTION and subject.person in (0, 3)
