"""Exercises of 02_bmm_and_masking."""

from course_lib.exercises.ch02.leaks import DEPENDS
from course_lib.exercises.ch02.masked import MASKED_SOFTMAX
from course_lib.exercises.ch02.masks import BOTH, VALID_LENS
from course_lib.exercises.ch02.scores import ADDITIVE, BMM

EXERCISES = (BMM, BOTH, MASKED_SOFTMAX, DEPENDS, VALID_LENS, ADDITIVE)
