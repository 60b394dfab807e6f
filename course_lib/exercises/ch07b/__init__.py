"""Exercises of 07b_inside_a_gpt."""

from course_lib.exercises.ch07b.ablation import ABLATE
from course_lib.exercises.ch07b.induction import INDUCTION
from course_lib.exercises.ch07b.lens import LENS
from course_lib.exercises.ch07b.patching import PATCH

EXERCISES = (LENS, INDUCTION, ABLATE, PATCH)
