#!/usr/bin/env python3
"""A transformer's training step with one line that costs too much. docs/code.md finds it.

    slow_step.py [--steps N] [--fixed]     --fixed: without that line

It knows nothing about cuspan: `cuspan run --set capture.launch_stacks=all` traces it.
"""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, TOKENS, BATCH, LAYERS, WORDS = 512, 8, 1024, 8, 4, 8192


def causal_mask(device):
    mask = torch.full((TOKENS, TOKENS), float("-inf")).triu(1)
    return mask.to(device)


class Attention(nn.Module):
    def __init__(self, is_fixed):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mask = causal_mask("cuda") if is_fixed else None

    def forward(self, x):
        q, k, v = (part.view(BATCH, TOKENS, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        mask = self.mask if self.mask is not None else causal_mask(x.device)
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype))
        return self.out(attended.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))


class Block(nn.Module):
    def __init__(self, is_fixed):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention(is_fixed)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class Model(nn.Module):
    def __init__(self, is_fixed):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.Sequential(*(Block(is_fixed) for _ in range(LAYERS)))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, given):
        return self.head(self.blocks(self.words(given) + self.places.weight))


class Trainer:
    def __init__(self, is_fixed):
        with torch.device("cuda"):
            self.model = Model(is_fixed)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)

    def step(self, given, wanted):
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.cross_entropy(self.model(given).flatten(0, 1), wanted.flatten())
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--fixed", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    trainer = Trainer(options.fixed)
    given, wanted = (torch.randint(WORDS, (BATCH, TOKENS), device="cuda") for _ in range(2))
    for number in range(options.steps):
        loss = trainer.step(given, wanted)
    print(f"loss after {options.steps} steps: {loss.item():.2f}")


if __name__ == "__main__":
    main()
