from course_lib.widgets.chat import chat_explorer as chat_explorer
from course_lib.widgets.explorer import Explorer as Explorer
from course_lib.widgets.explorer import projector as projector
from course_lib.widgets.model_view import model_explorer as model_explorer
from course_lib.widgets.shapes import bmm_explorer as bmm_explorer
