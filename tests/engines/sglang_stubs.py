"""Lets SGLang run on a CPU without its libraries of kernels: their modules are there, and nothing in them is called.
Several ranks communicate by gloo, not by NCCL. The worker of n-gram speculation accepts as many tokens as a random number says,
instead of computing a decode."""

import importlib.abc
import importlib.machinery
import sys
import types
from unittest import mock

from cuspan._imports import when_imported

_NAMES = {"IPython", "sgl_kernel", "flashinfer", "deep_gemm", "deep_ep", "quack", "tilelang", "cutlass", "tvm_ffi"}


class _Module(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {}) if name[0].isupper() else mock.MagicMock(name=name)
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in _NAMES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _Module(spec.name)

    def exec_module(self, module):
        pass


class _NoNccl:
    disabled, available = True, False

    def __init__(self, *_args, **_keywords):
        pass


def _communicate(module):
    module.PyNcclCommunicator = _NoNccl


def _speculate(module):
    import torch

    compute = module.NGRAMWorker.forward_batch_generation
    random = torch.Generator().manual_seed(7)

    def forward_batch_generation(self, batch, on_publish=None, pp_proxy_tensors=None):
        if not batch.forward_mode.is_decode():
            return compute(self, batch, on_publish, pp_proxy_tensors)
        count, drafts = len(batch.reqs), self.draft_token_num
        accepted = torch.randint(1, drafts + 1, (count,), dtype=torch.int32, generator=random)
        tokens = torch.randint(3, 512, (count * drafts,), dtype=torch.int32, generator=random)
        lengths = batch.seq_lens + accepted
        if on_publish is not None:
            on_publish(lengths)
        following = module.NgramVerifyInput(
            draft_token_num=drafts, new_seq_lens=lengths, accept_tokens=tokens, accept_lens=accepted
        )
        return module.GenerationBatchResult(
            next_token_ids=tokens,
            can_run_cuda_graph=False,
            accept_lens=accepted,
            new_seq_lens=lengths,
            next_draft_input=following,
            speculative_num_draft_tokens=drafts,
        )

    module.NGRAMWorker.forward_batch_generation = forward_batch_generation


def install():
    sys.meta_path.append(_Finder())
    when_imported("sglang.srt.distributed.device_communicators.pynccl", _communicate)
    when_imported("sglang.srt.speculative.ngram_worker", _speculate)
