"""Exercises of 07c_pretraining_and_scaling."""

from course_lib.exercises.ch07c.fitting import POWER_LAW
from course_lib.exercises.ch07c.masking import MASKS, NOISE
from course_lib.exercises.ch07c.spending import BEST_SIZE, COMPUTE

EXERCISES = (NOISE, MASKS, COMPUTE, POWER_LAW, BEST_SIZE)
