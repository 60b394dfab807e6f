"""Exercises of 10_inter_pixel_attention."""

from course_lib.exercises.ch10.noise import BACK, NOISE
from course_lib.exercises.ch10.pixels import ATTENTION, FLATTEN, MEMORY, STACK

EXERCISES = (FLATTEN, STACK, ATTENTION, MEMORY, NOISE, BACK)
