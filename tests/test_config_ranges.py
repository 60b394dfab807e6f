"""Every field of every configuration class refuses what is no value of its type, by name and in one line.

The classes are collected: a new one, or a new field, is tested without a line here.
"""

import types
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from helpers.no_name import NO_NAME
from helpers.public_classes import ROOMS, public_classes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NEEDED = {"vocab": 11, "classes": 4, "steps": 10}  # fields without a default, or one of two that are
NO_NUMBER = st.booleans() | st.text(max_size=3) | st.just(float("nan")) | st.just([2])
WRONG = {
    int: st.integers(max_value=-1) | st.floats() | NO_NUMBER,
    float: st.floats(max_value=-1e-9) | NO_NUMBER,
    bool: st.text(max_size=3) | st.none() | st.integers(min_value=2),
    str: NO_NAME | st.none() | st.integers(),
    tuple: st.text(max_size=3) | st.integers() | st.just(()) | st.just((8, 2.5)) | st.just((-8,)) | st.none(),
}
CONFIGS = [c for c in public_classes(*ROOMS, "lectures") if c.__name__.endswith("Config") and is_dataclass(c)]
FIELDS = [pytest.param(c, f.name, id=f"{c.__name__}.{f.name}") for c in CONFIGS for f in fields(c)]


def kind_of(config: type, field: str) -> Any:
    """The type of a field that takes it or None."""
    hint = get_type_hints(config)[field]
    if get_origin(hint) in (Union, types.UnionType):
        [hint] = {part for part in get_args(hint) if part is not type(None)} - {int} or {int}
    return get_origin(hint) or hint


def test_the_classes_are_found():
    assert {"GPTConfig", "UNetConfig", "TrainConfig", "DLStudioConfig"} <= {c.__name__ for c in CONFIGS}


@pytest.mark.parametrize(("config", "field"), FIELDS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_field_refuses_other_types(unchecked, config, field, data):
    value = data.draw(WRONG[kind_of(config, field)])
    given = {f.name: NEEDED[f.name] for f in fields(config) if f.name in NEEDED}
    with pytest.raises(ValueError, match=rf"^{field}\b") as error:
        config(**{**given, field: value})
    assert len(str(error.value).splitlines()) <= 1 + len(str(value).splitlines())
