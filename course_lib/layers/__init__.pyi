from course_lib.layers.blocks import (
    DecoderBlock as DecoderBlock,
)
from course_lib.layers.blocks import (
    EncoderBlock as EncoderBlock,
)
from course_lib.layers.blocks import (
    FeedForward as FeedForward,
)
from course_lib.layers.hooks import record_attention as record_attention
from course_lib.layers.kv_cache import (
    GrowingCache as GrowingCache,
)
from course_lib.layers.kv_cache import (
    MemoryCache as MemoryCache,
)
from course_lib.layers.kv_cache import (
    StaticCache as StaticCache,
)
from course_lib.layers.lora import LoRALinear as LoRALinear
from course_lib.layers.lora import add_lora as add_lora
from course_lib.layers.lora import merge_lora as merge_lora
from course_lib.layers.masks import (
    causal_mask as causal_mask,
)
from course_lib.layers.masks import (
    masked_softmax as masked_softmax,
)
from course_lib.layers.masks import (
    padding_mask as padding_mask,
)
from course_lib.layers.masks import (
    valid_lens_mask as valid_lens_mask,
)
from course_lib.layers.multi_head_attention import (
    AdditiveAttention as AdditiveAttention,
)
from course_lib.layers.multi_head_attention import (
    MultiHeadAttention as MultiHeadAttention,
)
from course_lib.layers.multi_head_attention import (
    attention as attention,
)
from course_lib.layers.patches import (
    ConvolutionalPatches as ConvolutionalPatches,
)
from course_lib.layers.patches import (
    ConvolutionalStem as ConvolutionalStem,
)
from course_lib.layers.patches import (
    Patches as Patches,
)
from course_lib.layers.patches import (
    SinusoidalPositions2d as SinusoidalPositions2d,
)
from course_lib.layers.patches import (
    embed_unfolded as embed_unfolded,
)
from course_lib.layers.patches import (
    resize_positions as resize_positions,
)
from course_lib.layers.patches import (
    sinusoidal_2d as sinusoidal_2d,
)
from course_lib.layers.patches import (
    unfold_patches as unfold_patches,
)
from course_lib.layers.pixel_attention import PixelAttention as PixelAttention
from course_lib.layers.positions import (
    LearnedPositions as LearnedPositions,
)
from course_lib.layers.positions import (
    NoPositions as NoPositions,
)
from course_lib.layers.positions import (
    RotaryPositions as RotaryPositions,
)
from course_lib.layers.positions import (
    SinusoidalPositions as SinusoidalPositions,
)
from course_lib.layers.positions import (
    rotate as rotate,
)
from course_lib.layers.positions import (
    sinusoidal as sinusoidal,
)
