"""Exercises of 05_fg_vs_preln."""

from course_lib.exercises.ch05.blocks import DECODER, PRE_NORM
from course_lib.exercises.ch05.norms import DROPOUT, LAYER_NORM, WARMUP
from course_lib.exercises.ch05.repair import REPAIR_ATTENTION, REPAIR_DECODER, REPAIR_ENCODER
from course_lib.exercises.ch05.stacks import PARAMETERS, STACK

EXERCISES = (
    LAYER_NORM,
    DROPOUT,
    PRE_NORM,
    DECODER,
    STACK,
    PARAMETERS,
    WARMUP,
    REPAIR_ATTENTION,
    REPAIR_ENCODER,
    REPAIR_DECODER,
)
