"""Exercises of 04b_rotary_positions."""

from course_lib.exercises.ch04b.distances import ALIASES, WINDOW
from course_lib.exercises.ch04b.pairings import CONVERT, HALVES
from course_lib.exercises.ch04b.rotary import ROTATE

EXERCISES = (ROTATE, ALIASES, WINDOW, HALVES, CONVERT)
