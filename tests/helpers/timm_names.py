"""A stand-in for timm's ViT, for tests that must run without timm."""

import torch
import torch.nn.functional as F


class TimmNames(torch.nn.Module):
    """A ViT with timm's names of weights, with explicit formulas."""

    def __init__(self, d=24, heads=3, layers=2, tokens=10, classes=5):
        super().__init__()
        shapes = {
            "cls_token": (1, 1, d),
            "pos_embed": (1, tokens, d),
            "patch_embed.proj.weight": (d, 2, 4, 4),
        }
        shapes |= {"patch_embed.proj.bias": (d,), "norm.weight": (d,), "norm.bias": (d,)}
        shapes |= {"head.weight": (classes, d), "head.bias": (classes,)}
        for i in range(layers):
            for name, rows, columns in [
                ("attn.qkv", 3 * d, d),
                ("attn.proj", d, d),
                ("mlp.fc1", 4 * d, d),
                ("mlp.fc2", d, 4 * d),
                ("norm1", d, None),
                ("norm2", d, None),
            ]:
                shapes[f"blocks.{i}.{name}.weight"] = (rows, columns) if columns else (rows,)
                shapes[f"blocks.{i}.{name}.bias"] = (rows,)
        self.weights = {name: 0.3 * torch.randn(shape) for name, shape in shapes.items()}
        self.heads, self.layers = heads, layers

    def state_dict(self):
        return dict(self.weights)

    def load_state_dict(self, weights):
        assert {name: t.shape for name, t in weights.items()} == {n: t.shape for n, t in self.weights.items()}
        self.weights = weights

    def linear(self, name, x):
        return x @ self.weights[f"{name}.weight"].t() + self.weights[f"{name}.bias"]

    def norm(self, name, x):
        return F.layer_norm(
            x, x.shape[-1:], self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], 1e-6
        )

    def attention(self, name, x):
        batch, tokens, d = x.shape
        qkv = self.linear(f"{name}.qkv", x).reshape(batch, tokens, 3, self.heads, d // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5).softmax(-1)
        return self.linear(f"{name}.proj", (weights @ v).transpose(1, 2).reshape(batch, tokens, d))

    def forward(self, images):
        w = self.weights
        x = F.conv2d(images, w["patch_embed.proj.weight"], w["patch_embed.proj.bias"], stride=4)
        x = torch.cat([w["cls_token"].expand(len(images), -1, -1), x.flatten(2).transpose(1, 2)], dim=1)
        x = x + w["pos_embed"]
        for i in range(self.layers):
            x = x + self.attention(f"blocks.{i}.attn", self.norm(f"blocks.{i}.norm1", x))
            hidden = F.gelu(self.linear(f"blocks.{i}.mlp.fc1", self.norm(f"blocks.{i}.norm2", x)))
            x = x + self.linear(f"blocks.{i}.mlp.fc2", hidden)
        return self.linear("head", self.norm("norm", x)[:, 0])
