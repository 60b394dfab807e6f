from course_lib.viz.adapting_figures import (
    diagram_answer_labels as diagram_answer_labels,
)
from course_lib.viz.adapting_figures import (
    diagram_dpo as diagram_dpo,
)
from course_lib.viz.adapting_figures import (
    plot_accuracies as plot_accuracies,
)
from course_lib.viz.attention_diagrams import (
    diagram_heads as diagram_heads,
)
from course_lib.viz.attention_diagrams import (
    diagram_qkv as diagram_qkv,
)
from course_lib.viz.attention_diagrams import (
    diagram_split_heads as diagram_split_heads,
)
from course_lib.viz.block_diagrams import (
    diagram_block as diagram_block,
)
from course_lib.viz.block_diagrams import (
    diagram_decoder_block as diagram_decoder_block,
)
from course_lib.viz.block_diagrams import (
    diagram_norm_axes as diagram_norm_axes,
)
from course_lib.viz.block_diagrams import (
    diagram_norm_placements as diagram_norm_placements,
)
from course_lib.viz.classification_figures import (
    diagram_directions as diagram_directions,
)
from course_lib.viz.classification_figures import (
    diagram_lora as diagram_lora,
)
from course_lib.viz.classification_figures import (
    diagram_pooling as diagram_pooling,
)
from course_lib.viz.classification_figures import (
    plot_by_variant as plot_by_variant,
)
from course_lib.viz.classification_figures import (
    plot_class_attention as plot_class_attention,
)
from course_lib.viz.classification_figures import (
    plot_validation as plot_validation,
)
from course_lib.viz.d2l_figures import plot_batch_means as plot_batch_means
from course_lib.viz.decoding_figures import (
    diagram_cache as diagram_cache,
)
from course_lib.viz.decoding_figures import (
    diagram_speculative as diagram_speculative,
)
from course_lib.viz.decoding_figures import (
    plot_decoding_cost as plot_decoding_cost,
)
from course_lib.viz.decoding_figures import (
    plot_search_tree as plot_search_tree,
)
from course_lib.viz.decoding_figures import (
    plot_truncation as plot_truncation,
)
from course_lib.viz.figures import heatmap as heatmap
from course_lib.viz.figures import show as show
from course_lib.viz.figures import show_widget as show_widget
from course_lib.viz.gpt_figures import (
    diagram_gpt as diagram_gpt,
)
from course_lib.viz.gpt_figures import (
    diagram_next_token as diagram_next_token,
)
from course_lib.viz.gpt_figures import (
    plot_against_baseline as plot_against_baseline,
)
from course_lib.viz.gpt_figures import (
    plot_by_context as plot_by_context,
)
from course_lib.viz.inside_figures import (
    diagram_induction as diagram_induction,
)
from course_lib.viz.inside_figures import (
    diagram_lens as diagram_lens,
)
from course_lib.viz.inside_figures import (
    diagram_patching as diagram_patching,
)
from course_lib.viz.inside_figures import (
    plot_ablations as plot_ablations,
)
from course_lib.viz.inside_figures import (
    plot_head_maps as plot_head_maps,
)
from course_lib.viz.inside_figures import (
    plot_patching as plot_patching,
)
from course_lib.viz.inside_figures import (
    plot_repeats as plot_repeats,
)
from course_lib.viz.letter_figures import plot_letter_maps as plot_letter_maps
from course_lib.viz.mask_diagrams import diagram_masks as diagram_masks
from course_lib.viz.pixel_figures import (
    diagram_flatten as diagram_flatten,
)
from course_lib.viz.pixel_figures import (
    diagram_pixel_attention as diagram_pixel_attention,
)
from course_lib.viz.pixel_figures import (
    diagram_unet as diagram_unet,
)
from course_lib.viz.pixel_figures import (
    plot_column_errors as plot_column_errors,
)
from course_lib.viz.pixel_figures import (
    plot_digit_runs as plot_digit_runs,
)
from course_lib.viz.pixel_figures import (
    plot_pictures as plot_pictures,
)
from course_lib.viz.pixel_figures import (
    plot_pixel_cost as plot_pixel_cost,
)
from course_lib.viz.pixel_figures import (
    plot_pixel_weights as plot_pixel_weights,
)
from course_lib.viz.position_figures import (
    diagram_clock_hands as diagram_clock_hands,
)
from course_lib.viz.position_figures import (
    diagram_pairings as diagram_pairings,
)
from course_lib.viz.position_figures import (
    diagram_rotary as diagram_rotary,
)
from course_lib.viz.position_figures import (
    plot_by_distance as plot_by_distance,
)
from course_lib.viz.position_figures import (
    plot_by_position as plot_by_position,
)
from course_lib.viz.position_figures import (
    plot_dot_products as plot_dot_products,
)
from course_lib.viz.real_data_figures import (
    diagram_cuts as diagram_cuts,
)
from course_lib.viz.real_data_figures import (
    diagram_merges as diagram_merges,
)
from course_lib.viz.real_data_figures import (
    plot_by_pairs as plot_by_pairs,
)
from course_lib.viz.real_data_figures import (
    plot_held_out_losses as plot_held_out_losses,
)
from course_lib.viz.real_data_figures import (
    plot_lengths as plot_lengths,
)
from course_lib.viz.real_data_figures import (
    plot_ranks as plot_ranks,
)
from course_lib.viz.real_data_figures import (
    plot_tries as plot_tries,
)
from course_lib.viz.recurrence_figures import (
    diagram_paths as diagram_paths,
)
from course_lib.viz.recurrence_figures import (
    diagram_recurrence as diagram_recurrence,
)
from course_lib.viz.recurrence_figures import (
    plot_query_path as plot_query_path,
)
from course_lib.viz.recurrence_figures import (
    plot_reach as plot_reach,
)
from course_lib.viz.recurrence_figures import (
    plot_seeds as plot_seeds,
)
from course_lib.viz.scaling_figures import (
    diagram_objectives as diagram_objectives,
)
from course_lib.viz.scaling_figures import (
    diagram_pretraining as diagram_pretraining,
)
from course_lib.viz.scaling_figures import (
    plot_budgets as plot_budgets,
)
from course_lib.viz.scaling_figures import (
    plot_gap as plot_gap,
)
from course_lib.viz.scaling_figures import (
    plot_power_law as plot_power_law,
)
from course_lib.viz.scaling_figures import (
    plot_pretraining_gain as plot_pretraining_gain,
)
from course_lib.viz.scaling_figures import (
    plot_sweep as plot_sweep,
)
from course_lib.viz.score_figures import (
    diagram_matches as diagram_matches,
)
from course_lib.viz.score_figures import (
    plot_brevity as plot_brevity,
)
from course_lib.viz.score_figures import (
    plot_checkpoints as plot_checkpoints,
)
from course_lib.viz.score_figures import (
    plot_differences as plot_differences,
)
from course_lib.viz.score_figures import (
    plot_error_kinds as plot_error_kinds,
)
from course_lib.viz.softmax_figures import (
    diagram_softmax as diagram_softmax,
)
from course_lib.viz.softmax_figures import (
    plot_both_axes as plot_both_axes,
)
from course_lib.viz.softmax_figures import (
    plot_random_walks as plot_random_walks,
)
from course_lib.viz.softmax_figures import (
    plot_temperature as plot_temperature,
)
from course_lib.viz.softmax_figures import (
    plot_widths as plot_widths,
)
from course_lib.viz.style import PALETTE as PALETTE
from course_lib.viz.style import use_style as use_style
from course_lib.viz.translation_figures import (
    diagram_shift as diagram_shift,
)
from course_lib.viz.translation_figures import (
    plot_cross_attention as plot_cross_attention,
)
from course_lib.viz.translation_figures import (
    plot_losses as plot_losses,
)
from course_lib.viz.vision_claims_figures import (
    plot_changed_images as plot_changed_images,
)
from course_lib.viz.vision_claims_figures import (
    plot_fixes as plot_fixes,
)
from course_lib.viz.vision_claims_figures import (
    plot_patch_owners as plot_patch_owners,
)
from course_lib.viz.vit_figures import (
    diagram_patch_embedding as diagram_patch_embedding,
)
from course_lib.viz.vit_figures import (
    diagram_vit as diagram_vit,
)
from course_lib.viz.vit_figures import (
    plot_confusion as plot_confusion,
)
from course_lib.viz.vit_figures import (
    plot_errors as plot_errors,
)
from course_lib.viz.vit_figures import (
    plot_image_rows as plot_image_rows,
)
from course_lib.viz.vit_figures import (
    plot_patches as plot_patches,
)
from course_lib.viz.vit_figures import (
    plot_training as plot_training,
)
from course_lib.viz.vit_figures import (
    plot_ways as plot_ways,
)
from course_lib.viz.vit_interpret import (
    attention_distance as attention_distance,
)
from course_lib.viz.vit_interpret import (
    class_attention as class_attention,
)
from course_lib.viz.vit_interpret import (
    logits_without as logits_without,
)
from course_lib.viz.vit_interpret import (
    paint_patches as paint_patches,
)
from course_lib.viz.vit_interpret import (
    position_similarity as position_similarity,
)
from course_lib.viz.vit_interpret import (
    principal_filters as principal_filters,
)
from course_lib.viz.vit_interpret import (
    rollout as rollout,
)
from course_lib.viz.vit_interpret_figures import (
    diagram_class_row as diagram_class_row,
)
from course_lib.viz.vit_interpret_figures import (
    diagram_rollout as diagram_rollout,
)
from course_lib.viz.vit_interpret_figures import (
    plot_causes as plot_causes,
)
from course_lib.viz.vit_interpret_figures import (
    plot_distances as plot_distances,
)
from course_lib.viz.vit_interpret_figures import (
    plot_images as plot_images,
)
from course_lib.viz.vit_interpret_figures import (
    plot_looks as plot_looks,
)
from course_lib.viz.vit_interpret_figures import (
    plot_occlusion as plot_occlusion,
)
from course_lib.viz.vit_interpret_figures import (
    plot_similarities as plot_similarities,
)
from course_lib.viz.vit_training_figures import (
    diagram_convolutional_tokens as diagram_convolutional_tokens,
)
from course_lib.viz.vit_training_figures import (
    plot_by_images as plot_by_images,
)
from course_lib.viz.vit_training_figures import (
    plot_checkpoint_losses as plot_checkpoint_losses,
)
from course_lib.viz.vit_training_figures import (
    plot_class_accuracies as plot_class_accuracies,
)
from course_lib.viz.vit_training_figures import (
    plot_conditions as plot_conditions,
)
from course_lib.viz.vit_training_figures import (
    plot_confusion_percent as plot_confusion_percent,
)
from course_lib.viz.vit_training_figures import (
    plot_mixtures as plot_mixtures,
)
from course_lib.viz.vit_training_figures import (
    plot_shifted_patches as plot_shifted_patches,
)
