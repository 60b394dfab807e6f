"""Exercises of 06a_the_d2l_system."""

from course_lib.exercises.ch06a.decoding import CACHED_MASK, PROJECTIONS
from course_lib.exercises.ch06a.measuring import MEAN_LOSS, TAKE, UNSEEN

EXERCISES = (TAKE, MEAN_LOSS, UNSEEN, CACHED_MASK, PROJECTIONS)
