"""Lets SGLang run on a CPU without its libraries of kernels: their modules are there, and nothing in them is called.
Several ranks communicate by gloo, not by NCCL."""

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


def install():
    sys.meta_path.append(_Finder())
    when_imported("sglang.srt.distributed.device_communicators.pynccl", _communicate)
