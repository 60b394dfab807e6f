"""Clauses in both languages: subject, verb group and the rest, in the word order of the mood."""

from typing import NamedTuple

from course_lib.datasets.grammar import english, spanish
from course_lib.datasets.grammar.lexicon import Entry
from course_lib.datasets.grammar.phrases import Phrase, join, require

Pair = tuple[str, str]  # English, Spanish
NOTHING: Pair = ("", "")
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
        en, es = join(self.english_tail, en), join(self.spanish_tail, es)
        return self._replace(english_tail=en, spanish_tail=es)


class Shape(NamedTuple):
    """Tense, mood and the words around the verb: what turns a predicate into a clause.

    adverb: an adverb beside the verb ("always"), in both languages. asked: the question word, if any.
    """

    tense: str = "present"
    mood: str = STATEMENT
    adverb: Pair = NOTHING
    asked: Pair = NOTHING


def bare(verb: Entry, en: str = "", es: str = "", clitic: str = "") -> Predicate:
    """The predicate of a verb in the lexicon, with these words at its end."""
    return Predicate(verb.english, verb.spanish, en, es, clitic, state=verb.past == "state")


def be(copula: str, en: str = "", es: str = "") -> Predicate:
    """The predicate "be", in Spanish ser, estar or tener, with its complement."""
    return Predicate("be", copula, en, es, state=True)


def bare_past(predicate: Predicate, shape: Shape, person: int) -> bool:
    """Whether a statement looks the same in the present and in the past: "I read the book", "they put"."""
    if shape.mood != STATEMENT or person == 2 or shape.tense not in ("present", "past"):
        return False
    return english.form(predicate.english, "past") == predicate.english


def spanish_tense(tense: str, state: bool) -> str:
    """The Spanish tense for an English one: imperfect for "used to" and for past states."""
    return "imperfect" if tense == "used to" or (tense == "past" and state) else tense


def english_clause(subject: Phrase, predicate: Predicate, shape: Shape) -> str:
    """Build the English clause, with do-support and inversion where the mood requires them."""
    auxiliary, negative, main, plain = english.verb_group(predicate.english, shape.tense, subject.person)
    adverb, asked, tail = shape.adverb[0], shape.asked[0], predicate.english_tail
    first = negative if shape.mood == NEGATIVE else auxiliary
    if asked or shape.mood == QUESTION:
        return join(asked, first, subject.english, adverb, main, tail)
    if plain and shape.mood == STATEMENT:
        return join(subject.english, adverb, plain, tail)
    return join(subject.english, first, adverb, main, tail)


def spanish_clause(subject: Phrase, predicate: Predicate, shape: Shape) -> str:
    """Build the Spanish clause; after a question word, the subject follows the verb (and its adjective)."""
    tense = spanish_tense(shape.tense, predicate.state)
    group = spanish.verb_group(predicate.spanish, tense, subject.person, predicate.clitic)
    verb = join(shape.adverb[1], "no" if shape.mood == NEGATIVE else "", group)
    if not shape.asked[1]:
        return join(subject.spanish, verb, predicate.spanish_tail)
    rest = (subject.spanish, predicate.spanish_tail)
    return join(shape.asked[1], verb, *(rest[::-1] if predicate.spanish in ("ser", "estar") else rest))


def clause(subject: Phrase, predicate: Predicate, shape: Shape) -> Pair:
    """The clause in English and Spanish, in small letters and without its closing mark."""
    return english_clause(subject, predicate, shape), spanish_clause(subject, predicate, shape)


def governed(verb: tuple[str, str, str], predicate: Predicate, person: int, state: bool) -> Predicate:
    """Make the predicate an infinitive that depends on another verb.

    verb: English ("want to", "can"), Spanish, and the Spanish linking word ("que", "a", ""). state: as in
    `Predicate`. The infinitive's pronoun is attached to it: "quiero verlo", "tengo que levantarme".
    """
    en, es, link = verb
    first, _, to = en.partition(" ")
    attached = spanish.infinitive_group(predicate.spanish, predicate.clitic, person)
    tail = join(to, predicate.english, predicate.english_tail)
    return Predicate(first, es, tail, join(link, attached, predicate.spanish_tail), state=state)


def finished(en: str, es: str, mark: str = ".") -> Pair:
    """Finish a sentence: contractions, a capital letter, punctuation (in Spanish also in front)."""
    es = spanish.contract(es)
    opening = {"?": "¿", "!": "¡"}.get(mark, "")
    return en[0].upper() + en[1:] + mark, opening + es[0].upper() + es[1:] + mark


def mark(mood: str) -> str:
    """The final punctuation mark of a mood."""
    return "?" if mood == QUESTION else "."


def asks_self(mood: str, subject: Phrase) -> bool:
    """Whether this would be a question about "I" or "we", which the grammar excludes."""
    return mood == QUESTION and subject.person in (0, 3)


def sentence(subject: Phrase, said: Predicate, tense: str = "present", mood: str = STATEMENT) -> Pair:
    """The finished sentence: a statement, or a yes/no question."""
    require(not asks_self(mood, subject))
    return finished(*clause(subject, said, Shape(tense, mood)), mark(mood))


def wh_question(asked: Pair, subject: Phrase, said: Predicate, tense: str, mood: str = QUESTION) -> Pair:
    """The finished question that begins with a question word."""
    require(subject.person not in (0, 3))
    return finished(*clause(subject, said, Shape(tense, mood, asked=asked)), "?")
