from course_lib.models.common import BlockConfig as BlockConfig
from course_lib.models.common import init_weights as init_weights
from course_lib.models.gpt import GPT as GPT
from course_lib.models.gpt import GPTConfig as GPTConfig
from course_lib.models.interventions import (
    ablate_head as ablate_head,
)
from course_lib.models.interventions import (
    head_outputs as head_outputs,
)
from course_lib.models.interventions import (
    patch_residuals as patch_residuals,
)
from course_lib.models.interventions import (
    patching_map as patching_map,
)
from course_lib.models.interventions import (
    residual_stream as residual_stream,
)
from course_lib.models.seq2seq import Seq2Seq as Seq2Seq
from course_lib.models.seq2seq import Seq2SeqConfig as Seq2SeqConfig
from course_lib.models.text_encoder import EncoderConfig as EncoderConfig
from course_lib.models.text_encoder import TextEncoder as TextEncoder
from course_lib.models.unet import UNet as UNet
from course_lib.models.unet import UNetConfig as UNetConfig
from course_lib.models.vit import ViT as ViT
from course_lib.models.vit import ViTConfig as ViTConfig
