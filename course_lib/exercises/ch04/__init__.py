"""Exercises of 04_positional_encodings."""

from course_lib.exercises.ch04.sinusoids import SHIFT, SINUSOIDAL, WAVELENGTH
from course_lib.exercises.ch04.using import ADDED, START

EXERCISES = (SINUSOIDAL, SHIFT, START, WAVELENGTH, ADDED)
