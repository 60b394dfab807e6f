from course_lib.chapters.chA4_images.vision_claims_figures import (
    plot_changed_images as plot_changed_images,
)
from course_lib.chapters.chA4_images.vision_claims_figures import plot_fixes as plot_fixes
from course_lib.chapters.chA4_images.vision_claims_figures import (
    plot_patch_owners as plot_patch_owners,
)
