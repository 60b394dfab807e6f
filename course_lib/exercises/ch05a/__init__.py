"""Exercises of 05a_anatomy_of_a_lecture_model."""

from course_lib.exercises.ch05a.mending import FEEDBACK, PADDING, PARAMETERS, PASSES, SHIFT

EXERCISES = (PARAMETERS, PASSES, SHIFT, PADDING, FEEDBACK)
