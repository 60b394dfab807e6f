"""Exercises of 08_vision_transformer."""

from course_lib.exercises.ch08.cutting import EMBED, PATCHES
from course_lib.exercises.ch08.looking import CONFUSION, MAP
from course_lib.exercises.ch08.sequence import POOL, POSITIONS, SEQUENCE

EXERCISES = (PATCHES, EMBED, SEQUENCE, POSITIONS, POOL, CONFUSION, MAP)
