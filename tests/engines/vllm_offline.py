"""Several engines, one after another in this process: texts with beam search and sleep, then adapters (LoRA), then
embeddings. Writes how much they returned. Each use has a context of its own.

    vllm_offline.py MODEL FOLDER"""

import gc
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from servers import VLLM_SETTINGS, traceparent
from vllm import LLM, SamplingParams
from vllm.distributed import cleanup_dist_env_and_memory
from vllm.lora.request import LoRARequest
from vllm.sampling_params import BeamSearchParams

import cuspan

PROMPTS = [{"prompt_token_ids": [3 + at] * (4 + 70 * at)} for at in range(6)]


def generated(llm, **options):
    sampling = SamplingParams(max_tokens=8, min_tokens=8, ignore_eos=True, temperature=0.0)
    return [len(made.outputs[0].token_ids) for made in llm.generate(PROMPTS, sampling, **options)]


def end(llm):
    llm.llm_engine.engine_core.shutdown()
    gc.collect()
    cleanup_dist_env_and_memory()


def make_adapter(folder):
    folder.mkdir()
    config = {"peft_type": "LORA", "r": 8, "lora_alpha": 8, "target_modules": ["q_proj"], "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    weights = {}
    for layer in range(2):
        name = f"base_model.model.model.layers.{layer}.self_attn.q_proj"
        weights[f"{name}.lora_A.weight"], weights[f"{name}.lora_B.weight"] = torch.ones(8, 128), torch.ones(128, 8)
    save_file(weights, folder / "adapter_model.safetensors")


def main():
    model, folder = sys.argv[1], Path(sys.argv[2])
    make_adapter(folder / "lora")
    done = []
    llm = LLM(model=model, **VLLM_SETTINGS)
    with cuspan.attach(traceparent(0)):
        done.append(generated(llm))
    llm.sleep(level=1)
    llm.wake_up()
    with cuspan.attach(traceparent(1)):
        done.append(generated(llm))
    with cuspan.attach(traceparent(2)):
        beams = llm.beam_search(PROMPTS[:2], BeamSearchParams(beam_width=3, max_tokens=5, ignore_eos=True))
        done.append([len(made.sequences) for made in beams])
    end(llm)

    llm = LLM(model=model, enable_lora=True, max_lora_rank=8, **VLLM_SETTINGS)
    with cuspan.attach(traceparent(3)):
        done.append(generated(llm, lora_request=LoRARequest("lora", 1, str(folder / "lora"))))
    end(llm)

    llm = LLM(model=model, runner="pooling", convert="embed", **VLLM_SETTINGS)
    with cuspan.attach(traceparent(4)):
        done.append([len(made.outputs.embedding) for made in llm.embed(PROMPTS)])
    end(llm)
    (folder / "out.json").write_text(json.dumps(done))


if __name__ == "__main__":
    main()
