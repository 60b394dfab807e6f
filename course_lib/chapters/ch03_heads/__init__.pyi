from course_lib.chapters.ch03_heads.heads_widget import diagram_heads as diagram_heads
from course_lib.chapters.ch03_heads.heads_widget import diagram_qkv as diagram_qkv
from course_lib.chapters.ch03_heads.heads_widget import (
    diagram_split_heads as diagram_split_heads,
)
from course_lib.chapters.ch03_heads.heads_widget import heads_explorer as heads_explorer
