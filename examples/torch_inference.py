"""A small transformer with random weights answers a few requests with PyTorch, like a serving process.

    pip install torch numpy
    cuspan run python3 examples/torch_inference.py

prints a checksum that is the same with and without cuspan. Below the session span, the trace shows PyTorch's CUDA calls
(cudaLaunchKernel for its own kernels, cuLaunchKernel for those of its libraries, copies to and from the GPU,
allocations while the first request warms up), and below each launch its kernel, by its short name.
"""

import argparse
import sys

import torch
from torch import nn


class Classifier(nn.Module):
    """From tokens to one of `classes`: embedding, transformer layers, mean, linear."""

    def __init__(self, vocabulary: int, width: int, heads: int, layers: int, classes: int):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.embed(tokens)).mean(dim=1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--layers", type=int, default=4)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("this example needs a GPU that PyTorch can use", file=sys.stderr)
        return 1

    torch.manual_seed(1)
    model = Classifier(vocabulary=1000, width=256, heads=4, layers=options.layers, classes=10)
    model = model.eval().half().to("cuda")

    checksum = 0
    with torch.inference_mode():
        for _ in range(options.requests):
            tokens = torch.randint(0, 1000, (options.batch, options.tokens))
            answer = model(tokens.to("cuda")).float().softmax(dim=1).argmax(dim=1)
            checksum = (checksum * 31 + int(answer.cpu().sum())) % 1000003
    print(f"PASS: {options.requests} requests, checksum {checksum}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
