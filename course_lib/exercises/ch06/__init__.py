"""Exercises of 06_seq2seq_with_bleu."""

from course_lib.exercises.ch06.learning import LOSS, SHIFT, SMOOTHING
from course_lib.exercises.ch06.scoring import BLEU, PENALTY, PRECISION

EXERCISES = (SHIFT, LOSS, SMOOTHING, PRECISION, PENALTY, BLEU)
