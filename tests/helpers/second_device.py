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

import torch
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend
from torch.utils.flop_counter import flop_registry

NAME = "second"
DEVICE = f"{NAME}:0"
SYNCS, TRANSFERS = Counter(), Counter()
COUNT = bool(os.environ.get("SECOND_COUNT"))  # names of the lines cost time
NOISE = float(
    os.environ.get("SECOND_NOISE", 0)
)  # relative rounding noise of products; the same for the same shapes, as with kernels
TF32 = bool(
    os.environ.get("SECOND_TF32")
)  # convolutions with 10 bits of mantissa: PyTorch's default on GPUs since Ampere (not a T4)
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
        more = f", device='{DEVICE}'" + (
            f", grad_fn=<{type(self.grad_fn).__name__}>"
            if self.grad_fn is not None
            else ", requires_grad=True"
            if self.requires_grad
            else ""
        )
        return text[:-1] + more + ")"

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
    listed = indices if isinstance(indices, list | tuple) else ()
    return any(isinstance(x, torch.Tensor) and not isinstance(x, SecondTensor) for x in listed)


def on_second(x):
    return isinstance(x, torch.device) and x.type == NAME


def unwrap(x):
    return x.raw if isinstance(x, SecondTensor) else torch.device("cpu") if on_second(x) else x


def wrap(x):
    return SecondTensor(x) if isinstance(x, torch.Tensor) and not isinstance(x, SecondTensor) else x


WAITS = {
    "aten::_local_scalar_dense",
    "aten::nonzero",
    "aten::masked_select",
    "aten::_unique2",
    "aten::equal",
    "aten::is_nonzero",
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


CHAOS = float(
    os.environ.get("SECOND_CHAOS", 0)
)  # noise that differs in every call, where CUDA adds with atomic operations
ATOMIC = {
    "embedding_dense_backward",
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    "scatter_add",
    "index_add",
    "convolution_backward",
    "_index_put_impl_",
    "upsample_nearest2d_backward",
}
PRODUCTS = {
    "mm",
    "addmm",
    "bmm",
    "baddbmm",
    "convolution",
    "convolution_backward",
    "linear",
    "matmul",
    "_softmax",
    "native_layer_norm",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_attention_math",
    "dot",
    "mv",
    "sum",
    "mean",
}
_chaos = _Generator().manual_seed(6)
_noise = 1 + NOISE * torch.randn(2**20, generator=_Generator().manual_seed(5)) if NOISE else None


def _rounded(x):
    """In TF32."""
    if not isinstance(x, torch.Tensor) or x.dtype != torch.float32:
        return x
    return ((x.detach().contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def _disturbed(name, x):
    if not isinstance(x, torch.Tensor) or x.dtype != torch.float32 or not 0 < x.numel() < 2**19:
        return x
    first = hash((name, *x.shape)) % 2**19
    return x * _noise[first : first + x.numel()].view(x.shape)


def compute(func, args, kwargs):
    args, kwargs, name = tree_map(unwrap, args), tree_map(unwrap, kwargs), func._schema.name[6:]
    if TF32 and name in ("convolution", "convolution_backward"):
        args = tuple(_rounded(x) for x in args)
    out = func(*args, **kwargs)
    if WORK:
        WORK.computed(func, args, kwargs, out)
    if CHAOS and name in ATOMIC:
        out = tree_map(
            lambda x: (
                x * (1 + CHAOS * torch.randn(x.shape, generator=_chaos))
                if isinstance(x, torch.Tensor) and x.dtype == torch.float32
                else x
            ),
            out,
        )
    return tree_map(lambda x: _disturbed(name, x), out) if NOISE and name in PRODUCTS else out


def run(func, args, kwargs):
    """One operation: check the devices, compute it on the CPU, and put the result on the device."""
    name, arguments = func._schema.name, func._schema.arguments
    flat, _ = tree_flatten((args, kwargs))
    ours = any(isinstance(x, SecondTensor) for x in flat)
    target = kwargs.get("device")
    if ours:
        check(name, args, kwargs, flat)
    if COUNT and (
        name in WAITS or (name == "aten::_to_copy" and ours and target is not None and target.type == "cpu")
    ):
        _count(SYNCS, name[6:])
    if (
        COUNT
        and ours
        and name.startswith(("aten::index", "aten::_index_put"))
        and any(
            isinstance(x, torch.Tensor) and x.dtype == torch.bool
            for x in (args[1] if isinstance(args[1], list | tuple) else ())
        )
    ):
        _count(SYNCS, "index by a mask")
    copies = name == "aten::_to_copy" and not ours and on_second(target) and not kwargs.get("non_blocking")
    if COUNT and (copies or (ours and any(_on_cpu(x) for x in args[1:2]))):  # numbers, or indices
        _count(TRANSFERS, name[6:])
    random = torch.Tag.nondeterministic_seeded in func.tags
    if random and (ours or on_second(target)):
        if not any(isinstance(x, _Generator) for x in flat):
            before = torch.get_rng_state()
            torch.set_rng_state(_stream.get_state())
            try:
                out = compute(func, args, kwargs)
            finally:
                _stream.set_state(torch.get_rng_state())
                torch.set_rng_state(before)
        else:
            out = compute(func, args, kwargs)
    else:
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
_apply, _materialize = torch.nn.Module._apply, torch.nn.parameter.UninitializedTensorMixin.materialize


def _apply_on(self, fn, recurse=True):
    lazy = {
        n: p
        for n, p in self._parameters.items()
        if isinstance(p, torch.nn.parameter.UninitializedTensorMixin)
    }
    if not lazy:
        return _apply(self, fn, recurse)
    for one in lazy:
        self._parameters[one] = None
    try:
        _apply(self, fn, recurse)
        goes = on_second(fn(torch.zeros(1)).device)
    finally:
        for n, p in lazy.items():
            self._parameters[n] = p
    if goes:
        self._goes_to_second = True
    return self


torch.nn.Module._apply = _apply_on
_infer = torch.nn.modules.lazy.LazyModuleMixin._infer_parameters


def _infer_on(self, module, args, kwargs=None):
    if getattr(module, "_goes_to_second", False):
        cpu = tree_map(unwrap, args)
        _infer(self, module, cpu, tree_map(unwrap, kwargs) if kwargs else kwargs)
        module.to(DEVICE)
    else:
        _infer(self, module, args, kwargs)


torch.nn.modules.lazy.LazyModuleMixin._infer_parameters = _infer_on


if __name__ == "__main__":  # a self-test
    x = torch.randn(3, 4, requires_grad=True)
    y = x.detach().to(DEVICE).requires_grad_()
    (torch.softmax(x @ x.T, -1).square().sum()).backward()
    (torch.softmax(y @ y.T, -1).square().sum()).backward()
    assert y.device.type == NAME and torch.equal(x.grad, y.grad.cpu())
    cpu, dev = torch.Generator().manual_seed(0), torch.Generator(DEVICE).manual_seed(0)
    assert dev.device.type == NAME and torch.rand(2, generator=dev, device=DEVICE).shape == (2,)
    assert torch.eye(3, device=DEVICE).shape == (3, 3) and torch.arange(2, 5, device=DEVICE).shape == (3,)
    assert y[[0, 2]].shape == (2, 4) and y.detach()[:, range(2)].shape == (3, 2)
    a, b = torch.zeros(2, device=DEVICE), torch.ones(2, device=DEVICE)
    a.data, b.data = b.data, a.data
    assert a.tolist() == [1, 1] and b.tolist() == [0, 0]
    model = torch.nn.Linear(4, 2).to(DEVICE).bfloat16()
    assert model(y.detach().bfloat16()).dtype == torch.bfloat16
    lazy = torch.nn.LazyLinear(5).to(DEVICE)
    assert lazy(y).shape == (3, 5) and lazy.weight.device.type == NAME
    torch.manual_seed(0)
    one, two = torch.rand(2), torch.rand(2, device=DEVICE)
    torch.manual_seed(0)
    assert (
        torch.equal(one, torch.rand(2))
        and torch.equal(two.cpu(), torch.rand(2, device=DEVICE).cpu())
        and not torch.equal(one, two.cpu())
    )
    with torch.device("meta"):
        assert torch.randn(2).is_meta and torch.tensor([1.0]).is_meta and torch.nn.Linear(2, 2).weight.is_meta
    for number, wrong in enumerate(
        (
            lambda: y + x,
            lambda: y.detach().numpy(),
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
    print("second:0 computes what the CPU computes, and refuses mixtures")
