"""Exercises of 05b_norms_and_depth."""

from course_lib.exercises.ch05b.gated import SWIGLU
from course_lib.exercises.ch05b.norms import QK_NORM, RMS_NORM
from course_lib.exercises.ch05b.rates import BEST_RATE, WARMUP

EXERCISES = (WARMUP, BEST_RATE, RMS_NORM, QK_NORM, SWIGLU)
