"""Exercises of 06b_decoding."""

from course_lib.exercises.ch06b.caching import CACHE
from course_lib.exercises.ch06b.greedy import GREEDY
from course_lib.exercises.ch06b.rounding import INT8
from course_lib.exercises.ch06b.searching import BEAM, BEST
from course_lib.exercises.ch06b.speculating import VERIFY

EXERCISES = (GREEDY, CACHE, BEAM, BEST, INT8, VERIFY)
