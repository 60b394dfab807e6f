"""Exercises of 00_why_attention."""

from course_lib.exercises.ch00.limits import COST, LAYERS, REACH
from course_lib.exercises.ch00.lookup import AVERAGE, HARD, SHARP

EXERCISES = (REACH, AVERAGE, HARD, SHARP, LAYERS, COST)
