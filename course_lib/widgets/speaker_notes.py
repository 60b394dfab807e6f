"""Notes for the instructor, in a window of their own."""

import anywidget
import traitlets

from course_lib.widgets.modules import joined


class SpeakerNotes(anywidget.AnyWidget):
    """A button that opens the notes in a second window; the window follows what is shown.

    title: of the widget on the page. notes: what the window says of it, by heading; set it last.
    """

    _esm = joined("speaker_notes.js")

    title = traitlets.Unicode().tag(sync=True)
    notes = traitlets.Dict().tag(sync=True)
