"""Exercises of 03_multi_head_attention."""

from course_lib.exercises.ch03.counting import PARAMETERS, PREVIOUS_HEAD
from course_lib.exercises.ch03.looking import CROSS, HEADS
from course_lib.exercises.ch03.splitting import MERGE, SPLIT

EXERCISES = (SPLIT, MERGE, HEADS, CROSS, PARAMETERS, PREVIOUS_HEAD)
