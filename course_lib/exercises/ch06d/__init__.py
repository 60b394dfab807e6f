"""Exercises of 06d_real_data."""

from course_lib.exercises.ch06d.subwords import ENCODE, MERGE, PAIR
from course_lib.exercises.ch06d.training import CHANCE, STOP

EXERCISES = (PAIR, MERGE, ENCODE, STOP, CHANCE)
