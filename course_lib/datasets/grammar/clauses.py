"""Clauses in both languages: subject, verb group and the rest, in the word order of the mood."""

from typing import NamedTuple

from course_lib.datasets.grammar import english, spanish
from course_lib.datasets.grammar.phrases import Phrase, join

Pair = tuple[str, str]  # English, Spanish
STATEMENT, NEGATIVE, QUESTION = "statement", "negative", "question"
MOODS = (STATEMENT, STATEMENT, STATEMENT, NEGATIVE, QUESTION)


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
        return self._replace(
            english_tail=join(self.english_tail, en), spanish_tail=join(self.spanish_tail, es)
        )


class Shape(NamedTuple):
    """Tense, mood and the words around the verb: what turns a predicate into a clause.

    adverb: an adverb beside the verb ("always"), in both languages. asked: the question word, if any.
    """

    tense: str = "present"
    mood: str = STATEMENT
    adverb: Pair = ("", "")
    asked: Pair = ("", "")


def bare_past(predicate: Predicate, shape: Shape, person: int) -> bool:
    """Whether a statement looks the same in the present and in the past: "I read the book", "they put"."""
    if shape.mood != STATEMENT or person == 2 or shape.tense not in ("present", "past"):
        return False
    return english.form(predicate.english, "past") == predicate.english


def spanish_tense(tense: str, state: bool) -> str:
    """The Spanish tense for an English one: imperfect for "used to" and for past states."""
    if tense == "used to" or (tense == "past" and state):
        return "imperfect"
    return tense


def english_clause(subject: Phrase, predicate: Predicate, shape: Shape) -> str:
    """Build the English clause, with do-support and inversion where the mood requires them."""
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
    """Build the Spanish clause; after a question word, the subject follows the verb (and its adjective)."""
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
    """Make the predicate an infinitive that depends on another verb.

    verb: English ("want to", "can"), Spanish, and the Spanish linking word ("que", "a", ""). state: as in
    `Predicate`. The infinitive's pronoun is attached to it: "quiero verlo", "tengo que levantarme".
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
    """Finish a sentence: contractions, a capital letter, punctuation (in Spanish also in front)."""
    es = spanish.contract(es)
    en = en[0].upper() + en[1:] + mark
    opening = {"?": "¿", "!": "¡"}.get(mark, "")
    return en, opening + es[0].upper() + es[1:] + mark


def mark(mood: str) -> str:
    """The final punctuation mark of a mood."""
    return "?" if mood == QUESTION else "."


def asks_self(mood: str, subject: Phrase) -> bool:
    """Whether this would be a question about "I" or "we", which the grammar excludes."""
    return mood == QUESTION and subject.person in (0, 3)
