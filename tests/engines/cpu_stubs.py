"""Lets vLLM's CPU build run what it does not support: n-gram speculation (an argument that its fallback does not know)
and asynchronous scheduling (the CUDA streams of its output)."""

import contextlib

from cuspan._imports import when_imported


def _speculate(module):
    def kernel(*args, USE_FP64_GUMBEL=None, **keywords):
        return module._sample_recovered_tokens_kernel_impl(*args, **keywords)

    module.sample_recovered_tokens_kernel = module._FuncWrapper(kernel)


def _schedule_asynchronously(module):
    original = module.CpuPlatform.check_and_update_config.__func__

    def check(cls, config):
        original(cls, config)
        config.scheduler_config.async_scheduling = True

    module.CpuPlatform.check_and_update_config = classmethod(check)


def _replace_streams(module):
    import torch

    class Nothing:
        def __init__(self, *_args, **_keywords):
            pass

        def query(self):
            return True

        def __getattr__(self, name):
            return lambda *_args: None

    module._torch_cuda_wrapper = contextlib.nullcontext
    torch.cuda.current_stream = lambda *_args, **_keywords: Nothing()
    torch.cuda.stream = lambda _: contextlib.nullcontext()
    torch.Event = torch.cuda.Event = torch.cuda.Stream = Nothing


def install(names):
    if "speculation" in names:
        when_imported("vllm.utils.cpu_triton_utils", _speculate)
    if "async" in names:
        when_imported("vllm.platforms.cpu", _schedule_asynchronously)
        when_imported("vllm.v1.worker.cpu_model_runner", _replace_streams)
