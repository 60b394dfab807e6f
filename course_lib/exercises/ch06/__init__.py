"""Exercises of 06_seq2seq_with_bleu."""

from course_lib.exercises.ch06.learning import LOSS, SHIFT, SMOOTHING
from course_lib.exercises.ch06.scoring import BLEU_ON_PAPER
from course_lib.exercises.ch06.training import TRAIN

EXERCISES = (SHIFT, LOSS, TRAIN, BLEU_ON_PAPER, SMOOTHING)
