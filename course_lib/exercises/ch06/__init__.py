"""Exercises of 06_seq2seq_with_bleu."""

from course_lib.exercises.ch06.caching import CACHE, POSITIONS
from course_lib.exercises.ch06.learning import LOSS, SHIFT, SMOOTHING
from course_lib.exercises.ch06.scoring import BLEU, PENALTY, PRECISION
from course_lib.exercises.ch06.searching import BEAM, BEST
from course_lib.exercises.ch06.training import CLIP, NOAM

EXERCISES = (SHIFT, LOSS, SMOOTHING, CLIP, NOAM, PRECISION, PENALTY, BLEU, POSITIONS, CACHE, BEAM, BEST)
