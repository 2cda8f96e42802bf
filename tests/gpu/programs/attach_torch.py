"""Steps of PyTorch, while the agent is attached.

    attach_torch.py eager|compile|graphs|ddp AFTER

Each step computes the same, so that each result must be that of the first step. Prints "ready", reads a line by which the agent is
attached, makes AFTER more steps, and prints "results same" or "results differ", "older LAUNCHES" of a graph that was captured before the
attach, and "done". It ends when standard input does. ddp: RANK and the other variables of torchrun are set."""

import os
import sys
import threading

import torch


def make_model(mode):
    torch.manual_seed(1)
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    torch.cuda.set_device(device)
    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU()) for _ in range(6))).to(device)
    if mode == "ddp":
        torch.distributed.init_process_group("nccl")
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index])
    if mode == "compile":
        model = torch.compile(model)
    return model, torch.randn(64, 256, device=device)


def make_step(mode):
    """The step, which returns what must be the same each time, and the counter of launches of a graph."""
    model, data = make_model(mode)
    launches = [0]

    def train():
        model.zero_grad(set_to_none=True)
        loss = model(data).square().mean()
        loss.backward()
        return torch.stack([loss.detach(), *(parameter.grad.norm() for parameter in model.parameters())])

    if mode != "graphs":
        return train, launches
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.no_grad():
        for _ in range(3):
            model(data)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        output = model(data)

    def replay():
        launches[0] += 1
        graph.replay()
        return output.clone()
    replay.needed = model, data  # the graph has only their addresses
    return replay, launches


def main():
    mode, after = sys.argv[1], int(sys.argv[2])
    step, launches = make_step(mode)
    for _ in range(3):
        expected = step().clone()
    asked = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), asked.set()), daemon=True).start()
    is_same, left = True, after
    print("ready", flush=True)
    while left:
        flag = torch.tensor([asked.is_set()], dtype=torch.int, device="cuda")
        if mode == "ddp":  # all ranks make the same number of steps
            torch.distributed.all_reduce(flag, torch.distributed.ReduceOp.MIN)
        if flag.item():
            left -= 1
        is_same &= torch.equal(step(), expected)
    torch.cuda.synchronize()
    print(f"results {'same' if is_same else 'differ'}\nolder {launches[0]}\ndone", flush=True)
    sys.stdin.readline()
    if mode == "ddp":
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
