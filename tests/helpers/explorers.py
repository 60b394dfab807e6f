"""Every widget of the course, and another value for any of its controls."""

import ipywidgets

from course_lib.chapters.gallery import BROWSER_DRAWN, homes
from helpers.small_translator import small_translation_explorer

WIDGETS = [
    small_translation_explorer if name == "translation_explorer" else getattr(home, name)
    for name, home in homes().items()
    if name not in BROWSER_DRAWN
]


def another_value(control: ipywidgets.Widget):
    """A value of the control that it has not now."""
    if hasattr(control, "options"):
        values = [one[1] if isinstance(one, tuple) else one for one in control.options]
        return next(value for value in values if value != control.value)
    if isinstance(control.value, bool):
        return not control.value
    if isinstance(control, ipywidgets.Text):
        return control.value + " and more"
    if isinstance(control, ipywidgets.FloatLogSlider):
        return control.base**control.max
    return control.max if control.value != control.max else control.min
