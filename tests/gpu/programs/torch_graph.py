"""A model captured into a CUDA graph by PyTorch and replayed: the spans must contain all executions."""

import torch

torch.manual_seed(1)
layers = [torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.LayerNorm(256)) for _ in range(8)]
model = torch.nn.Sequential(*layers).cuda().eval()
x = torch.randn(8, 256, device="cuda")
with torch.inference_mode():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    for _ in range(50):
        graph.replay()
    torch.cuda.synchronize()
print(f"PASS: 50 replays, {float(y.sum()):.3f}")
