"""Exercises of 03_multi_head_attention."""

from course_lib.exercises.ch03.looking import CROSS, HEADS
from course_lib.exercises.ch03.one_head import HEAD, LOOPHOLE
from course_lib.exercises.ch03.patterns import PREVIOUS_HEAD
from course_lib.exercises.ch03.training import TRAIN

EXERCISES = (HEAD, HEADS, CROSS, TRAIN, PREVIOUS_HEAD, LOOPHOLE)
