"""Exercises of A1_the_dlstudio_system."""

from course_lib.exercises.cha1.fixes import FEEDBACK, PADDING, PARAMETERS, PASSES, SHIFT

EXERCISES = (PARAMETERS, PASSES, SHIFT, PADDING, FEEDBACK)
