"""A connector of KV caches for vLLM on a CPU, whose caches have another layout than vLLM's example connector expects. Files
and decisions are those of the example; whole blocks are copied. With `asynchronous`, a request waits until its cache has
arrived, in iterations that compute nothing."""

import os

from safetensors.torch import load_file, save_file
from vllm.distributed.kv_transfer.kv_connector.v1.example_connector import ExampleConnector


class CpuConnector(ExampleConnector):
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self._is_asynchronous = self._kv_transfer_config.get_from_extra_config("asynchronous", False)
        self._wanted = []  # requests, the tokens of their prompts, and their blocks
        self._received = set()
        self._caches = {}  # by layer

    # --- In the scheduler ---

    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        count, _ = super().get_num_new_matched_tokens(request, num_computed_tokens)
        return count, self._is_asynchronous and count > 0

    def update_state_after_alloc(self, request, blocks, num_external_tokens):
        if num_external_tokens > 0:
            self._wanted.append((request.request_id, request.prompt_token_ids, blocks.get_block_ids()[0]))

    def build_connector_meta(self, scheduler_output):
        made = super().build_connector_meta(scheduler_output)
        made.wanted, self._wanted = self._wanted, []
        return made

    # --- In a worker ---

    def register_kv_caches(self, kv_caches):
        self._caches = kv_caches

    def start_load_kv(self, forward_context, **_):
        import torch

        for name, tokens, blocks in self._get_connector_metadata().wanted:
            count = (len(tokens) - 2) // self._block_size
            folder = self._generate_foldername_debug(torch.tensor(tokens)[: count * self._block_size], [])
            for layer, cache in self._caches.items():
                cache[blocks[:count]] = load_file(os.path.join(folder, f"{layer}.safetensors"))["kv_cache"]
            if self._is_asynchronous:
                self._received.add(name)

    def save_kv_layer(self, *_arguments, **_keywords):
        pass

    def wait_for_save(self):
        for request in self._get_connector_metadata().requests:
            blocks = request.slot_mapping[:: self._block_size] // self._block_size
            for layer, cache in self._caches.items():
                file = self._generate_filename_debug(layer, request.token_ids, [])
                save_file({"kv_cache": cache[blocks].contiguous()}, file)

    def get_finished(self, finished_req_ids):
        received, self._received = self._received, set()
        return None, received or None
