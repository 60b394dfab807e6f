"""Exercises of 03b_what_attention_costs."""

from course_lib.exercises.ch03b.combining import COMBINE
from course_lib.exercises.ch03b.counting import MULTIPLICATIONS, PARAMETERS
from course_lib.exercises.ch03b.flash import FLASH
from course_lib.exercises.ch03b.grouped import GROUPED

EXERCISES = (PARAMETERS, MULTIPLICATIONS, COMBINE, FLASH, GROUPED)
