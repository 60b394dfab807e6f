"""Exercises of 07_gpt_pretraining."""

from course_lib.exercises.ch07.choosing import TOP_K, TOP_P
from course_lib.exercises.ch07.counting import BIGRAM, SCORES
from course_lib.exercises.ch07.learning import ANSWER_LOSS, LOSS, MASK
from course_lib.exercises.ch07.looking import INDUCTION
from course_lib.exercises.ch07.pretraining import BERT, PAIR

EXERCISES = (LOSS, BIGRAM, SCORES, MASK, TOP_K, TOP_P, ANSWER_LOSS, INDUCTION, PAIR, BERT)
