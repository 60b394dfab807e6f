"""Exercises of A3_the_d2l_system."""

from course_lib.exercises.cha3.decoding import CACHED_MASK, PROJECTIONS
from course_lib.exercises.cha3.measuring import MEAN_LOSS, TAKE, UNSEEN

EXERCISES = (TAKE, MEAN_LOSS, UNSEEN, CACHED_MASK, PROJECTIONS)
