from course_lib.chapters.ch05_blocks.block_picture import diagram_block as diagram_block
from course_lib.chapters.ch05_blocks.block_picture import (
    diagram_decoder_block as diagram_decoder_block,
)
from course_lib.chapters.ch05_blocks.block_picture import diagram_norm_axes as diagram_norm_axes
from course_lib.chapters.ch05_blocks.block_picture import (
    diagram_norm_placements as diagram_norm_placements,
)
from course_lib.chapters.ch05_blocks.block_tracer import block_explorer as block_explorer
from course_lib.chapters.ch05_blocks.norms_widget import norm_explorer as norm_explorer
