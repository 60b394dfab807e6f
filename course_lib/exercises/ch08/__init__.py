"""Exercises of 08_vision_transformer."""

from course_lib.exercises.ch08.confusion import CONFUSION
from course_lib.exercises.ch08.cutting import EMBED, PATCHES
from course_lib.exercises.ch08.sequence import POOL, SEQUENCE

EXERCISES = (PATCHES, EMBED, SEQUENCE, CONFUSION, POOL)
