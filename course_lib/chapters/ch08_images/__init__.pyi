from course_lib.chapters.ch08_images.class_attention_widget import (
    class_attention_explorer as class_attention_explorer,
)
from course_lib.chapters.ch08_images.confusion_widget import (
    confusion_explorer as confusion_explorer,
)
from course_lib.chapters.ch08_images.patches_widget import patch_explorer as patch_explorer
from course_lib.chapters.ch08_images.vit_figures import (
    diagram_patch_embedding as diagram_patch_embedding,
)
from course_lib.chapters.ch08_images.vit_figures import diagram_vit as diagram_vit
from course_lib.chapters.ch08_images.vit_figures import plot_confusion as plot_confusion
from course_lib.chapters.ch08_images.vit_figures import plot_errors as plot_errors
from course_lib.chapters.ch08_images.vit_figures import plot_image_rows as plot_image_rows
from course_lib.chapters.ch08_images.vit_figures import plot_patches as plot_patches
from course_lib.chapters.ch08_images.vit_figures import plot_training as plot_training
from course_lib.chapters.ch08_images.vit_figures import plot_ways as plot_ways
from course_lib.chapters.ch08_images.vit_interpret import attention_distance as attention_distance
from course_lib.chapters.ch08_images.vit_interpret import class_attention as class_attention
from course_lib.chapters.ch08_images.vit_interpret import logits_without as logits_without
from course_lib.chapters.ch08_images.vit_interpret import paint_patches as paint_patches
from course_lib.chapters.ch08_images.vit_interpret import rollout as rollout
from course_lib.chapters.ch08_images.vit_interpret_figures import (
    diagram_class_row as diagram_class_row,
)
from course_lib.chapters.ch08_images.vit_interpret_figures import (
    diagram_rollout as diagram_rollout,
)
from course_lib.chapters.ch08_images.vit_interpret_figures import plot_causes as plot_causes
from course_lib.chapters.ch08_images.vit_interpret_figures import plot_distances as plot_distances
from course_lib.chapters.ch08_images.vit_interpret_figures import plot_images as plot_images
from course_lib.chapters.ch08_images.vit_interpret_figures import plot_looks as plot_looks
from course_lib.chapters.ch08_images.vit_interpret_figures import plot_occlusion as plot_occlusion
from course_lib.chapters.ch08_images.vit_interpret_figures import (
    plot_similarities as plot_similarities,
)
from course_lib.chapters.ch08_images.vit_training_figures import (
    diagram_convolutional_tokens as diagram_convolutional_tokens,
)
from course_lib.chapters.ch08_images.vit_training_figures import plot_by_images as plot_by_images
from course_lib.chapters.ch08_images.vit_training_figures import (
    plot_checkpoint_losses as plot_checkpoint_losses,
)
from course_lib.chapters.ch08_images.vit_training_figures import (
    plot_conditions as plot_conditions,
)
from course_lib.chapters.ch08_images.vit_training_figures import (
    plot_confusion_percent as plot_confusion_percent,
)
from course_lib.chapters.ch08_images.vit_training_figures import plot_mixtures as plot_mixtures
from course_lib.chapters.ch08_images.vit_training_figures import (
    plot_moved_features as plot_moved_features,
)
from course_lib.chapters.ch08_images.vit_training_figures import (
    plot_shifted_patches as plot_shifted_patches,
)
