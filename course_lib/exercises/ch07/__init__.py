"""Exercises of 07_gpt_pretraining."""

from course_lib.exercises.ch07.choosing import TOP_K, TOP_P
from course_lib.exercises.ch07.counting import BIGRAM, SCORES
from course_lib.exercises.ch07.learning import LOSS
from course_lib.exercises.ch07.stacking import GPT

EXERCISES = (LOSS, SCORES, BIGRAM, GPT, TOP_P, TOP_K)
