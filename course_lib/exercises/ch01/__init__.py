"""Exercises of 01_softmax_and_scaling."""

from course_lib.exercises.ch01.attending import ATTENTION, GRADIENT
from course_lib.exercises.ch01.scaling import SCORES, STANDARD_DEVIATION
from course_lib.exercises.ch01.softmax import SOFTMAX, TEMPERATURE

EXERCISES = (SOFTMAX, TEMPERATURE, STANDARD_DEVIATION, SCORES, ATTENTION, GRADIENT)
