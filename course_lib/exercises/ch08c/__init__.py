"""Exercises of 08c_training_a_vit."""

from course_lib.exercises.ch08c.augmenting import LOSS, MIXUP, SHIFT
from course_lib.exercises.ch08c.measuring import BEST, PERCENT

EXERCISES = (BEST, SHIFT, MIXUP, LOSS, PERCENT)
