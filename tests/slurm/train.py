"""A training script for torchrun: joins the other ranks, as PyTorch programs do, and makes CUDA calls."""

import runpy
import sys
from pathlib import Path

import torch.distributed

torch.distributed.init_process_group("gloo")
torch.distributed.barrier()
program = Path(__file__).with_name("program.py")
sys.argv = [str(program), "RANK"]
runpy.run_path(str(program), run_name="__main__")
torch.distributed.destroy_process_group()
