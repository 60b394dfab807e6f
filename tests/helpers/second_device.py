"""A second device made of CPU memory, which finds code that only works on the CPU without a GPU.

    from helpers import second_device  # before course_lib
    device = second_device.DEVICE  # "second:0"

Tensors on it compute the CPU's numbers. As with CUDA, these raise: an operation on tensors of both devices,
.numpy(), a CPU generator for random numbers on the device, which come from its own stream. It is built
on PyTorch's Python backend for the PrivateUse1 key (torch.utils.backend_registration). It cannot replace
CUDA's kernels, the range of fp16, autocast, streams or memory.

What that backend cannot do is replaced below: torch.tensor(data, device=…), `x.data = y`, results whose size
changes (torch.eye, torch.arange(out=)), indices in a list or range, lazy layers (d2l), inference_mode (here
no_grad), tolist of a subclass. With COUNT, SYNCS counts the reads for which a GPU would keep the host
waiting, by line of the caller, and TRANSFERS the copies to the device for which it waits, too. WORK, once it
is a Work, counts what the device would do: operations, multiplications of matrix products and convolutions,
bytes in use.
"""

import os
import sys
import weakref
from collections import Counter
from contextlib import contextmanager, nullcontext

import torch
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend
from torch.utils.flop_counter import flop_registry

NAME = "second"
DEVICE = f"{NAME}:0"
SYNCS, TRANSFERS = Counter(), Counter()
COUNT = False  # names of the lines cost time
NOISE = float(
    os.environ.get("SECOND_NOISE", 0)
)  # relative rounding noise of products, by shape, as of kernels
_Generator, _tensor, _empty = torch.Generator, torch.tensor, torch.empty
_stream = _Generator("cpu").manual_seed(1)  # the device's own random numbers


class Module(_DummyBackendModule):
    """What PyTorch asks the device's module for."""

    def get_amp_supported_dtype(self):
        return [torch.float16, torch.bfloat16]

    def is_bf16_supported(self, *args, **kwargs):
        return True

    def synchronize(self, *args):
        pass

    def manual_seed_all(self, seed):
        _stream.manual_seed((seed + 1_234_567) % 2**63)

    manual_seed = manual_seed_all

    def _is_in_bad_fork(self):
        return False

    def get_rng_state(self, *args):
        return _stream.get_state()

    def set_rng_state(self, state, *args):
        _stream.set_state(state)


class Work:
    """What the device has done: operations that compute, multiplications; bytes in use, and their peak."""

    def __init__(self):
        self.operations = self.multiplications = self.bytes = self.peak = 0
        self.users = Counter()  # tensors that share a storage

    def computed(self, func, args, kwargs, out):
        aliases = (one.alias_info for one in func._schema.returns)
        self.operations += not any(alias and not alias.is_write for alias in aliases)  # no views
        if (packet := func._overloadpacket) in flop_registry:
            self.multiplications += flop_registry[packet](*args, **kwargs, out_val=out) // 2

    def made(self, tensor):
        storage = tensor.raw.untyped_storage()
        key, size = storage.data_ptr(), storage.nbytes()
        if not self.users[key]:
            self.bytes += size
            self.peak = max(self.peak, self.bytes)
        self.users[key] += 1
        weakref.finalize(tensor, self.freed, key, size)

    def freed(self, key, size):
        self.users[key] -= 1
        if not self.users[key]:
            self.bytes -= size


WORK: Work | None = None
_setup_privateuseone_for_python_backend(NAME, backend_module=Module())
for kind in (torch.Tensor, torch.nn.Module, torch.nn.utils.rnn.PackedSequence):
    if NAME in vars(kind):  # x.second(), like x.cuda(): it hides a submodule of that name
        delattr(kind, NAME)
DEV = torch.device(DEVICE)
_data = torch._C.TensorBase.data


class SecondTensor(torch.Tensor):
    """A tensor on the second device; `raw` holds its numbers."""

    @staticmethod
    def __new__(cls, raw):
        layout = {"strides": raw.stride(), "storage_offset": raw.storage_offset(), "dtype": raw.dtype}
        made = torch.Tensor._make_wrapper_subclass(cls, raw.size(), device=DEV, **layout)
        made.raw = raw.detach() if raw.requires_grad else raw
        if WORK:
            WORK.made(made)
        return made

    def __repr__(self, **kwargs):  # as a CUDA tensor's, but for the name
        text = repr(self.raw.detach())
        grad_fn = f", grad_fn=<{type(self.grad_fn).__name__}>" if self.grad_fn is not None else ""
        leaf = ", requires_grad=True" if self.requires_grad and not grad_fn else ""
        return f"{text[:-1]}, device='{DEVICE}'{grad_fn}{leaf})"

    def __format__(self, spec):
        return format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec)

    def tolist(self):
        _count(SYNCS, "tolist")
        return self.raw.tolist()

    def numpy(self, *args, **kwargs):
        raise TypeError(
            f"can't convert {DEVICE} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )

    __array__ = numpy

    @property
    def data(self):
        return _data.__get__(self)

    @data.setter
    def data(self, new):
        _data.__set__(self, new)
        if isinstance(new, SecondTensor):
            self.raw = new.raw

    def new_tensor(self, data, **kwargs):
        return _tensor_on(data, **{"dtype": self.dtype, "device": self.device, **kwargs})

    def untyped_storage(self):  # for safetensors, which looks for shared memory
        return self.raw.untyped_storage()

    def data_ptr(self):
        return self.raw.data_ptr()

    def __getitem__(self, index):
        return super().__getitem__(_indices(index))

    def __setitem__(self, index, value):
        if isinstance(value, torch.Tensor) and not isinstance(value, SecondTensor) and value.dim() == 0:
            value = value.item()
        super().__setitem__(_indices(index), value)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return run(func, args, kwargs or {})


def _indices(index):
    def one(x):
        return (
            _tensor(list(x), device="cpu")
            if isinstance(x, list | range | tuple) and not any(isinstance(i, slice) for i in x)
            else x
        )

    return tuple(one(x) for x in index) if isinstance(index, tuple) else one(index)


def _count(counter, what):
    if not COUNT:
        return
    frame = sys._getframe(2)
    while frame and ("second_device" in frame.f_code.co_filename or "/torch/" in frame.f_code.co_filename):
        frame = frame.f_back
    counter[f"{what} {frame.f_code.co_filename}:{frame.f_lineno}" if frame else what] += 1


def _on_cpu(indices):
    """Whether an index is a tensor on the CPU, which is copied to the device first."""
    return any(isinstance(x, torch.Tensor) and not isinstance(x, SecondTensor) for x in _listed(indices))


def _listed(indices):
    return indices if isinstance(indices, list | tuple) else ()


def on_second(x):
    return isinstance(x, torch.device) and x.type == NAME


def unwrap(x):
    return x.raw if isinstance(x, SecondTensor) else torch.device("cpu") if on_second(x) else x


def wrap(x):
    return SecondTensor(x) if isinstance(x, torch.Tensor) and not isinstance(x, SecondTensor) else x


WAITS = {
    f"aten::{name}"
    for name in ("_local_scalar_dense", "nonzero", "masked_select", "_unique2", "equal", "is_nonzero")
}


def check(name, args, kwargs, flat):
    """Raise where CUDA would: for tensors of both devices (CPU scalars and CPU indices may join)."""
    if name.startswith(("aten::_to_copy", "aten::copy_")):
        return
    if (
        name.startswith(("aten::index", "aten::_index_put"))
        and not name.startswith(("aten::index_", "aten::index_put"))
        or name in ("aten::index_put", "aten::index_put_")
    ):
        flat = [args[0], *args[2:]]
        if not isinstance(args[0], SecondTensor):
            raise RuntimeError(
                "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
            )
    if any(isinstance(x, torch.Tensor) and not isinstance(x, SecondTensor) and x.dim() for x in flat):
        raise RuntimeError(
            f"{name}: Expected all tensors to be on the same device, "
            f"but found at least two devices, {DEVICE} and cpu!"
        )


PRODUCTS = {
    "mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward", "linear", "matmul", "_softmax",
    "native_layer_norm", "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math",
    "dot", "mv", "sum", "mean",
}  # fmt: skip
_noise = 1 + NOISE * torch.randn(2**20, generator=_Generator().manual_seed(5)) if NOISE else None


def _disturbed(name, x):
    if not isinstance(x, torch.Tensor) or x.dtype != torch.float32 or not 0 < x.numel() < 2**19:
        return x
    first = hash((name, *x.shape)) % 2**19
    return x * _noise[first : first + x.numel()].view(x.shape)


def compute(func, args, kwargs):
    args, kwargs, name = tree_map(unwrap, args), tree_map(unwrap, kwargs), func._schema.name[6:]
    out = func(*args, **kwargs)
    if WORK:
        WORK.computed(func, args, kwargs, out)
    return tree_map(lambda x: _disturbed(name, x), out) if NOISE and name in PRODUCTS else out


@contextmanager
def _drawing_from_stream():
    before = torch.get_rng_state()
    torch.set_rng_state(_stream.get_state())
    try:
        yield
    finally:
        _stream.set_state(torch.get_rng_state())
        torch.set_rng_state(before)


def run(func, args, kwargs):
    """One operation: check the devices, compute it on the CPU, and put the result on the device."""
    name, arguments = func._schema.name, func._schema.arguments
    flat, _ = tree_flatten((args, kwargs))
    ours = any(isinstance(x, SecondTensor) for x in flat)
    target = kwargs.get("device")
    if ours:
        check(name, args, kwargs, flat)
    waits = name in WAITS or name == "aten::_to_copy" and ours and target is not None and target.type == "cpu"
    indexed = args[1] if ours and name.startswith(("aten::index", "aten::_index_put")) else ()
    if waits:
        _count(SYNCS, name[6:])
    if any(isinstance(x, torch.Tensor) and x.dtype == torch.bool for x in _listed(indexed)):
        _count(SYNCS, "index by a mask")
    copies = name == "aten::_to_copy" and not ours and on_second(target) and not kwargs.get("non_blocking")
    if copies or (ours and any(_on_cpu(x) for x in args[1:2])):  # numbers, or indices
        _count(TRANSFERS, name[6:])
    random = torch.Tag.nondeterministic_seeded in func.tags and (ours or on_second(target))
    own_stream = random and not any(isinstance(x, _Generator) for x in flat)
    with _drawing_from_stream() if own_stream else nullcontext():
        out = compute(func, args, kwargs)
    named = {a.name: a for a in arguments}
    given = [*zip(arguments, args, strict=False), *((named[k], v) for k, v in kwargs.items())]
    written = [v for a, v in given if a.alias_info is not None and a.alias_info.is_write]
    for one in written:
        if isinstance(one, SecondTensor) and one.raw.shape != one.shape:  # out= of another size
            _data.__set__(one, SecondTensor(one.raw))
    if len(written) == 1 and isinstance(out, torch.Tensor):
        return written[0]
    if written and isinstance(out, tuple | list) and len(written) == len(out):
        return type(out)(written)
    leaves = isinstance(target, torch.device) and target.type == "cpu"
    return tree_map(wrap, out) if (ours and not leaves) or on_second(target) else out


_library = torch.library.Library("_", "IMPL")
_library.fallback(lambda op, *args, **kwargs: run(op, args, kwargs), "PrivateUse1")
_library.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")  # autocast changes nothing here


def _default():
    return _empty(0).device  # torch.get_default_device() calls torch.tensor, which is replaced


def _tensor_on(data, *args, device=None, requires_grad=False, **kwargs):
    device = torch.device(device) if device is not None else _default()
    made = _tensor(
        tree_map(lambda x: x.item() if isinstance(x, SecondTensor) and x.dim() == 0 else unwrap(x), data),
        *args,
        device="cpu" if device.type == NAME else device,
        **kwargs,
    ).to(device)
    return made.requires_grad_() if requires_grad else made


class _GeneratorOn(_Generator):
    def __new__(cls, device="cpu"):
        on = torch.device(device).type == NAME
        made = _Generator.__new__(cls, "cpu" if on else device)
        made.on_second = on
        return made

    @property
    def device(self):
        return DEV if self.on_second else torch.device("cpu")


def _same_device(draw, makes=False):
    """Dispatch sees another Python object than the caller's generator, so its device is checked before."""

    def checked(*args, generator=None, **kwargs):
        if makes and kwargs.get("device") is None and (default := _default()).type != "cpu":
            kwargs["device"] = default  # set_default_device knows the replaced function only
        if generator is None:
            return draw(*args, **kwargs)
        device = kwargs.get("device") or next(
            (x.device for x in args if isinstance(x, torch.Tensor)), _default()
        )
        if getattr(generator, "on_second", False) != (torch.device(device).type == NAME):
            raise RuntimeError(
                f"Expected a '{torch.device(device).type}' device type for generator "
                f"but found '{generator.device.type}'"
            )
        return draw(*args, generator=generator, **kwargs)

    return checked


for name in ("rand", "randn", "randint", "randperm", "multinomial", "normal", "bernoulli"):
    setattr(torch, name, _same_device(getattr(torch, name), name.startswith("rand")))
for name in ("multinomial", "uniform_", "normal_", "random_", "bernoulli_", "bernoulli", "exponential_"):
    setattr(torch.Tensor, name, _same_device(getattr(torch.Tensor, name)))
_as_tensor = torch.as_tensor


def _as_tensor_on(data, dtype=None, device=None):
    if isinstance(data, torch.Tensor):
        return data.to(device=device or data.device, dtype=dtype or data.dtype)
    return _as_tensor(data, dtype=dtype, device="cpu").to(device if device is not None else _default())


torch.tensor, torch.as_tensor, torch.Generator = _tensor_on, _as_tensor_on, _GeneratorOn
torch.accelerator.synchronize = lambda *args: None
torch.inference_mode = lambda mode=True: torch.no_grad() if mode else torch.enable_grad()

# lazy layers: `to(device)` of a weight without a shape notes the device; it goes there with its shape
_apply, _infer = torch.nn.Module._apply, torch.nn.modules.lazy.LazyModuleMixin._infer_parameters


def _apply_on(self, fn, recurse=True):
    kind = torch.nn.parameter.UninitializedTensorMixin
    lazy = {name: p for name, p in self._parameters.items() if isinstance(p, kind)}
    if not lazy:
        return _apply(self, fn, recurse)
    self._parameters.update(dict.fromkeys(lazy))
    try:
        _apply(self, fn, recurse)
        if on_second(fn(torch.zeros(1)).device):
            self._goes_to_second = True
    finally:
        self._parameters.update(lazy)
    return self


def _infer_on(self, module, args, kwargs=None):
    if not getattr(module, "_goes_to_second", False):
        return _infer(self, module, args, kwargs)
    _infer(self, module, tree_map(unwrap, args), tree_map(unwrap, kwargs))
    module.to(DEVICE)


torch.nn.Module._apply, torch.nn.modules.lazy.LazyModuleMixin._infer_parameters = _apply_on, _infer_on


if __name__ == "__main__":  # what no test that passes can notice: mixtures of devices are refused
    x, cpu = torch.randn(3, 4), torch.Generator().manual_seed(0)
    y = x.to(DEVICE)
    for number, wrong in enumerate(
        (
            lambda: y + x,
            lambda: y.numpy(),
            lambda: torch.nn.Linear(4, 2)(y),
            lambda: torch.rand(2, generator=cpu, device=DEVICE),
            lambda: x[torch.tensor([0], device=DEVICE)],
            lambda: torch.zeros(4).index_put_((torch.tensor([0]),), torch.zeros(1, device=DEVICE)),
        )
    ):
        try:
            wrong()
        except (RuntimeError, TypeError):
            continue
        raise AssertionError(f"a mixture of devices went unnoticed: {number}")
    print("mixtures of devices are refused")
