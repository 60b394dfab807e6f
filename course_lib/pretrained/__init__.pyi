from course_lib.pretrained.bert import load_bert as load_bert
from course_lib.pretrained.gpt2 import load_gpt2 as load_gpt2
from course_lib.pretrained.torchvision_ops import import_torchvision as import_torchvision
from course_lib.pretrained.vit import load_vit as load_vit
