"""Repair the lecture: the einsum listing of the notes, each wrong line with a check of its own."""

from course_lib.exercises.exercise import Answer, Exercise, Mistake, mistake
from course_lib.lectures.einsum_faults import BY_NAME, FAULTS, Fault
from course_lib.lectures.einsum_repair import outcome


def right(fault: str) -> object:
    """What the system computes when the line of this fault is repaired."""
    return outcome(fault, BY_NAME[fault].right)


def _all_but(forgotten: Fault) -> Answer:
    """Everything is repaired but one line."""
    return lambda fault: outcome(fault, forgotten.says) if fault == forgotten.name else right(fault)


def _mistake(fault: Fault) -> Mistake:
    return mistake(fault.leaves, fault.why, _all_but(fault))


def _exercise(name: str, *places: str) -> Exercise:
    faults = [fault for fault in FAULTS if fault.where in places]
    return Exercise(
        id=f"05.repair_{name}",
        reference=right,
        inputs=tuple((fault.name,) for fault in faults),
        mistakes=tuple(_mistake(fault) for fault in faults),
    )


REPAIR_ATTENTION = _exercise("attention", "SelfAttention")
REPAIR_ENCODER = _exercise("encoder", "layer_norm_mean", "Encoder")
REPAIR_DECODER = _exercise("decoder", "DecoderBlock", "Decoder", "Transformer")
