"""Lets vLLM's CPU build run what it does not support: n-gram speculation (arguments that its fallbacks do not know),
asynchronous scheduling (the CUDA streams of its output), Ray (which gets the name of a GPU for its resources), and data
parallelism of mixtures of experts (two collectives). In 0.20 to run without binding threads to processors, and in 0.32 to
run pipeline parallelism, whose buffers a run at the start makes, which it leaves out."""

import contextlib
import inspect

from cuspan._imports import when_imported


def _speculate(module):
    if not hasattr(module, "_FuncWrapper"):  # not needed in 0.32
        return
    for name, function in list(vars(module).items()):
        if name.endswith("_kernel_impl"):
            setattr(module, name[1 : -len("_impl")], module._FuncWrapper(_with_known(function)))


def _with_known(function):
    known = inspect.signature(function).parameters

    def call(*args, **keywords):
        keywords = {name: value for name, value in keywords.items() if name in known}
        return function(*args[: len(known) - len(keywords)], **keywords)

    return call


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


def _place_with_ray(module):
    module.CpuPlatform.ray_device_key = "GPU"  # RAY_OVERRIDE_RESOURCES says that there are some


def _gather_experts(module):
    import torch
    from torch import distributed

    def all_gatherv(self, given, dim=0, sizes=None):
        if isinstance(given, list):
            return [all_gatherv(self, one, dim, sizes) for one in given]
        padded = torch.zeros((max(sizes), *given.shape[1:]), dtype=given.dtype)
        padded[: given.shape[0]] = given
        gathered = [torch.empty_like(padded) for _ in sizes]
        distributed.all_gather(gathered, padded, group=self.device_group)
        return torch.cat([one[:size] for one, size in zip(gathered, sizes)])

    def reduce_scatterv(self, given, dim=0, sizes=None):
        distributed.all_reduce(given, group=self.device_group)
        return given.split(sizes)[self.rank_in_group].contiguous()

    module.CpuCommunicator.all_gatherv = all_gatherv
    module.CpuCommunicator.reduce_scatterv = reduce_scatterv


def _bind_nothing(module):
    def parse(self):
        self.skip_setup, self.auto_setup, self.cpu_lists, self.reserved_cpu_list = True, False, [], []

    module.OMPProcessManager._parse_omp_threads_bind_env = parse


def _warm_up(module):
    if hasattr(module.CPUWorker, "_should_warm_up_model"):  # 0.32
        from vllm.v1.worker.cpu_model_runner import CPUModelRunner

        module.CPUWorker._should_warm_up_model = lambda _: True
        CPUModelRunner.warming_up_model = lambda self: self.profile_run()


def _activate(module):
    """On processors where vLLM 0.24 has no kernel for experts, it asks for a configuration that is gone."""
    from torch.nn import functional

    def silu(given):
        half = given.shape[-1] // 2
        return functional.silu(given[..., :half]) * given[..., half:]

    if hasattr(module, "_CPU_MOE_ACT_FN"):
        module._CPU_MOE_ACT_FN[module.MoEActivation.SILU] = silu


def install(names):
    when_imported("vllm.model_executor.layers.fused_moe.cpu_fused_moe", _activate)
    when_imported("vllm.v1.worker.cpu_worker", _warm_up)
    when_imported("vllm.utils.ompmultiprocessing", _bind_nothing)
    if "speculation" in names:
        when_imported("vllm.utils.cpu_triton_utils", _speculate)
    if "ray" in names:
        when_imported("vllm.platforms.cpu", _place_with_ray)
    if "experts" in names:
        when_imported("vllm.distributed.device_communicators.cpu_communicator", _gather_experts)
    if "async" in names:
        when_imported("vllm.platforms.cpu", _schedule_asynchronously)
        when_imported("vllm.v1.worker.cpu_model_runner", _replace_streams)
