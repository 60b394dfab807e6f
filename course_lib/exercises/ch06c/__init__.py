"""Exercises of 06c_measuring_translation."""

from course_lib.exercises.ch06c.chance import BOOTSTRAP, PAIRED
from course_lib.exercises.ch06c.chrf import CHRF
from course_lib.exercises.ch06c.scoring import BLEU, BREVITY, PRECISION

EXERCISES = (PRECISION, BLEU, BOOTSTRAP, PAIRED, BREVITY, CHRF)
