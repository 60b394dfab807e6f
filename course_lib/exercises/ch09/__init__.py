"""Exercises of 09_encoder_classification."""

from course_lib.exercises.ch09.adaptation import LORA
from course_lib.exercises.ch09.costs import HEAD_SIZE
from course_lib.exercises.ch09.pooling import MAX, MEAN
from course_lib.exercises.ch09.reading import CLASS_TOKEN, LAST

EXERCISES = (MEAN, MAX, CLASS_TOKEN, LAST, LORA, HEAD_SIZE)
