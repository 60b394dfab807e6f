"""Exercises of 05_fg_vs_preln."""

from course_lib.exercises.ch05.blocks import PRE_NORM
from course_lib.exercises.ch05.decoder import DECODER
from course_lib.exercises.ch05.norms import DROPOUT, LAYER_NORM
from course_lib.exercises.ch05.stacks import PARAMETERS, STACK

EXERCISES = (LAYER_NORM, PRE_NORM, DECODER, DROPOUT, PARAMETERS, STACK)
