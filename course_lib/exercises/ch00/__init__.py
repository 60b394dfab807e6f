"""Exercises of 00_why_attention."""

from course_lib.exercises.ch00.lookup import AVERAGE, HARD, SHARP
from course_lib.exercises.ch00.recurrence import REACH
from course_lib.exercises.ch00.reversal import BAG, MIRROR

EXERCISES = (MIRROR, BAG, HARD, AVERAGE, SHARP, REACH)
