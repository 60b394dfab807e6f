"""Exercises of 07d_adapting_a_model."""

from course_lib.exercises.ch07d.labels import ANSWER_LABELS
from course_lib.exercises.ch07d.low_rank import LORA, TRAINABLE
from course_lib.exercises.ch07d.preferring import DPO

EXERCISES = (ANSWER_LABELS, LORA, DPO, TRAINABLE)
