"""Exercises of 08b_what_a_vit_sees."""

from course_lib.exercises.ch08b.attending import MAP, ROLLOUT
from course_lib.exercises.ch08b.needing import OCCLUDE
from course_lib.exercises.ch08b.places import POSITIONS

EXERCISES = (MAP, ROLLOUT, OCCLUDE, POSITIONS)
