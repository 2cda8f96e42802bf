"""The steps of PyTorch's training loops, on a CPU. Needs torch, and tests transformers, accelerate, lightning and
deepspeed if they are installed (trainers.sh installs all of them):

    python -m tests.torch_loops"""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
import tempfile
import time
import unittest
import warnings

import torch
from torch import nn

from cuspan import _job_steps
from cuspan._steps import CHECKPOINT, EVALUATION, TRAIN, Steps

warnings.simplefilter("ignore")
reports: list[tuple[int, int, int]] = []
steps = Steps(lambda *report: reports.append(report))
_job_steps.follow_torch(torch, steps)


def needs(name: str):
    return unittest.skipUnless(importlib.util.find_spec(name), f"{name} is not installed")


class Loops(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.model = nn.Linear(4, 4)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.warm_up_is_over = False
        steps.__init__(steps._report)
        reports.clear()

    def backward(self, model=None):
        (self.model if model is None else model)(torch.ones(2, 4)).sum().backward()

    def numbers(self):
        return [number for number, kind, _ in reports if kind == TRAIN]

    def expect_one_for_each(self, body, warm_up=8, times=6):
        """Once the loop is known, each iteration ends exactly one step."""
        for _ in range(warm_up):
            body()
        first = steps.number
        for done in range(1, times + 1):
            body()
            self.assertEqual(steps.number, first + done)

    def train(self, accumulate=1):
        for _ in range(accumulate):
            self.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def test_plain(self):
        self.expect_one_for_each(self.train, warm_up=1)
        self.assertEqual(self.numbers(), list(range(1, 9)))

    def test_accumulation(self):
        self.expect_one_for_each(lambda: self.train(4), warm_up=1)

    def test_two_optimizers(self):
        other = nn.Linear(4, 4)
        second = torch.optim.Adam(other.parameters())

        def body():
            self.train()
            self.backward(other)
            second.step()

        self.expect_one_for_each(body)

    def test_gradients_of_gradients(self):
        def body():
            inputs = torch.ones(2, 4, requires_grad=True)
            output = self.model(inputs).sum()
            gradient = torch.autograd.grad(output, inputs, create_graph=True)[0]  # no backward pass of the loop
            (output + gradient.square().sum()).backward()
            self.optimizer.step()

        self.expect_one_for_each(body, warm_up=1)

    def test_checkpointed_layers(self):
        def body():
            inputs = torch.ones(2, 4, requires_grad=True)
            torch.utils.checkpoint.checkpoint(self.model, inputs, use_reentrant=True).sum().backward()
            self.optimizer.step()

        self.expect_one_for_each(body, warm_up=1)

    def test_a_step_that_the_scaler_skips(self):
        scaler = torch.amp.GradScaler("cpu")

        def body(factor=1.0):
            scaler.scale(self.model(torch.ones(2, 4)).sum() * factor).backward()
            scaler.step(self.optimizer)
            scaler.update()
            self.optimizer.zero_grad()

        self.expect_one_for_each(body)
        before = steps.number
        body(float("inf"))
        self.assertEqual(steps.number, before)  # known at the next backward pass
        body()
        self.assertEqual(steps.number, before + 2)

    def test_a_closure(self):
        def closure():
            self.optimizer.zero_grad()
            loss = self.model(torch.ones(2, 4)).sum()
            loss.backward()
            return loss

        self.expect_one_for_each(lambda: self.optimizer.step(closure), warm_up=1)

    def test_lbfgs(self):
        optimizer = torch.optim.LBFGS(self.model.parameters(), max_iter=3)

        def closure():
            optimizer.zero_grad()
            loss = self.model(torch.ones(2, 4)).square().sum()
            loss.backward()
            return loss

        self.expect_one_for_each(lambda: optimizer.step(closure), warm_up=4)

    def test_an_optimizer_in_the_backward_pass(self):
        model = nn.Sequential(*(nn.Linear(4, 4) for _ in range(6)))
        optimizers = {parameter: torch.optim.SGD([parameter], lr=0.01) for parameter in model.parameters()}
        for parameter in model.parameters():
            parameter.register_post_accumulate_grad_hook(lambda p: optimizers[p].step())
        self.expect_one_for_each(lambda: self.backward(model))

    def test_an_optimizer_that_calls_its_base(self):
        class Twice(torch.optim.SGD):
            def step(self, closure=None):
                return super().step(closure)

        optimizer = Twice(self.model.parameters(), lr=0.01)

        def body():
            self.backward()
            optimizer.step()

        self.expect_one_for_each(body)

    def test_a_compiled_step(self):
        torch._dynamo.reset()
        compiled = torch.compile(self.optimizer.step, backend="eager")

        def body():
            self.backward()
            compiled()

        self.expect_one_for_each(body, warm_up=1)

    def test_compiling_has_no_more_graph_breaks(self):
        def breaks(is_hooked):
            torch._dynamo.reset()
            hooks = sys.modules["torch.optim.optimizer"]._global_optimizer_post_hooks
            kept = dict(hooks)
            if not is_hooked:
                hooks.clear()
            self.backward()
            torch._dynamo.utils.counters.clear()
            torch.compile(self.optimizer.step, backend="eager")()
            hooks.update(kept)
            return sum(torch._dynamo.utils.counters["graph_break"].values())

        self.assertEqual(breaks(True), breaks(False))

    def test_a_compiled_model(self):
        torch._dynamo.reset()
        model = torch.compile(self.model, backend="eager")

        def body():
            self.backward(model)
            self.optimizer.step()

        self.expect_one_for_each(body, warm_up=1)

    def test_evaluation_and_checkpoint(self):
        model = nn.Sequential(self.model, nn.Sequential(nn.Dropout()))
        for _ in range(4):
            self.train()
        number = steps.number
        reports.clear()
        model.eval()
        with torch.no_grad():
            model(torch.ones(2, 4))
        model.train()
        with tempfile.TemporaryFile() as file:
            torch.save(model.state_dict(), file)
        self.assertEqual([kind for _, kind, _ in reports], [EVALUATION, TRAIN, CHECKPOINT, TRAIN])
        self.assertEqual({reported for reported, _, _ in reports}, {number})
        self.assertTrue(model.training and model[1][0].training)
        self.train()
        self.assertEqual(steps.number, number + 1)
        model.train()
        reports.clear()
        model[1].eval()  # frozen layers
        self.assertEqual(reports, [])

    def test_evaluation_of_a_wrapped_model(self):
        """Trainers put the wrapper (DistributedDataParallel, torch.compile) into training mode, and the model itself into
        evaluation mode."""
        model = nn.Sequential(self.model, nn.Dropout())
        wrapper = nn.Module()
        wrapper.module = nn.Module()
        wrapper.module._orig_mod = model
        wrapper.train()
        self.train()
        reports.clear()
        model[1].eval()
        self.assertEqual(reports, [])
        model.eval()
        wrapper.train()
        self.assertEqual([kind for _, kind, _ in reports], [EVALUATION, TRAIN])

    def test_cost(self):
        """Printed, not compared: the machine decides."""
        for _ in range(4):
            steps.backward()
            steps.optimizer(1)
        start = time.process_time()
        for _ in range(20000):
            steps.backward()
            steps.optimizer(1)
        print(f"{(time.process_time() - start) / 20000 * 1e6:.2f} us for B and O, ", end="", file=sys.stderr)

    def test_parts_of_a_model(self):
        """As in torchtitan: an optimizer for each part, a container that calls them, accumulation, clipping."""
        parts = [nn.Linear(4, 4) for _ in range(3)]
        model = nn.Sequential(*parts)
        optimizers = [torch.optim.AdamW(part.parameters()) for part in parts]
        schedulers = [torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0) for optimizer in optimizers]

        def body():
            for optimizer in optimizers:
                optimizer.zero_grad()
            for _ in range(2):
                self.backward(model)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
            for each in (*optimizers, *schedulers):
                each.step()

        self.expect_one_for_each(body)

    @needs("deepspeed")
    def test_deepspeed(self):
        """Every stage of ZeRO: as many steps as DeepSpeed itself counts."""
        import deepspeed

        for stage in range(4):
            steps.__init__(steps._report)
            model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
            config = {
                "train_micro_batch_size_per_gpu": 2,
                "gradient_accumulation_steps": 3,
                "zero_optimization": {"stage": stage},
                "zero_allow_untested_optimizer": True,
                "zero_force_ds_cpu_optimizer": False,
                "bf16": {"enabled": stage > 0},
            }
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            engine = deepspeed.initialize(model=model, optimizer=optimizer, config=config, dist_init_required=False)[0]
            inputs = torch.ones(2, 8, dtype=torch.bfloat16 if stage else torch.float32)
            for _ in range(8):
                for _ in range(3):
                    engine.backward(engine(inputs).square().mean())
                    engine.step()
                self.assertEqual(steps.number, engine.global_steps + 1, f"stage {stage}")

    @needs("accelerate")
    def test_accelerate(self):
        from accelerate import Accelerator

        accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
        model, optimizer = accelerator.prepare(self.model, self.optimizer)

        def body():
            for _ in range(2):
                with accelerator.accumulate(model):
                    accelerator.backward(model(torch.ones(2, 4)).sum())
                    optimizer.step()
                    optimizer.zero_grad()

        self.expect_one_for_each(body, warm_up=1)

    @needs("lightning")
    def test_lightning(self):
        import lightning

        class Module(lightning.LightningModule):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(4, 4)

            def training_step(self, batch, _index):
                return self.layer(batch).sum()

            def validation_step(self, batch, _index):
                self.layer(batch)

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.01)

        data = torch.utils.data.DataLoader(torch.ones(20, 4), batch_size=2)
        with tempfile.TemporaryDirectory() as folder:
            trainer = lightning.Trainer(
                max_epochs=2,
                accelerator="cpu",
                logger=False,
                enable_progress_bar=False,
                enable_model_summary=False,
                default_root_dir=folder,
            )
            trainer.fit(Module(), data, data)
        self.assertEqual(steps.number, 21)
        kinds = {kind for _, kind, _ in reports}
        self.assertEqual(kinds, {TRAIN, EVALUATION, CHECKPOINT})

    @needs("transformers")
    def test_transformers(self):
        from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

        model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=16, n_positions=8))
        data = [{"input_ids": torch.zeros(4, dtype=torch.long), "labels": torch.zeros(4, dtype=torch.long)}] * 16
        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                folder,
                per_device_train_batch_size=2,
                gradient_accumulation_steps=2,
                num_train_epochs=3,
                eval_strategy="epoch",
                save_strategy="epoch",
                report_to=[],
                use_cpu=True,
                disable_tqdm=True,
            )
            Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data).train()
        self.assertEqual(steps.number, 13)  # 12 steps, and the one that began after the last
        self.assertIn(EVALUATION, {kind for _, kind, _ in reports})


def setUpModule():
    """DeepSpeed needs a group of processes, and is to choose the CPU."""
    if importlib.util.find_spec("deepspeed"):
        with socket.socket() as listener:
            listener.bind(("localhost", 0))
            port = listener.getsockname()[1]
        os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port), RANK="0", WORLD_SIZE="1", LOCAL_RANK="0")
        os.environ.update(DS_ACCELERATOR="cpu")
        torch.distributed.init_process_group("gloo")


def tearDownModule():
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    unittest.main(verbosity=2)
