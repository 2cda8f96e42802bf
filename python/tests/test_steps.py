"""How the steps of training loops are found. The loops of PyTorch itself are in torch_loops.py."""

import threading
import unittest

import cuspan
from cuspan import _agent
from cuspan._steps import BY_OPTIMIZER, CHECKPOINT, EVALUATION, TRAIN, Steps
from tests.support import stub


class Loop(unittest.TestCase):
    def setUp(self):
        self.reports = []
        self.steps = Steps(lambda *report: self.reports.append(report))

    def play(self, events):
        """B is a backward pass, everything else an optimizer. Returns the positions after which a step began."""
        began = []
        for position, event in enumerate(events):
            before = len(self.reports)
            if event == "B":
                self.steps.backward()
            else:
                self.steps.optimizer(event)
            if len(self.reports) > before:
                began.append(position)
        return began

    def play_until_known(self, step):
        """Repeats the step until its sequence must be known, and checks the numbers so far."""
        self.reports.clear()
        for _ in range(16):
            self.play(step)
        numbers = [number for number, _, _ in self.reports]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        self.assertEqual({report[1:] for report in self.reports}, {(TRAIN, BY_OPTIMIZER)})
        self.reports.clear()

    def expect_last(self, step, times=5):
        """Each step ends at its last event, and nowhere else."""
        self.play_until_known(step)
        for _ in range(times):
            self.assertEqual(self.play(step), [len(step) - 1])

    def test_one_optimizer_from_the_first_step_on(self):
        self.assertEqual(self.play("BO"), [0, 1])
        for _ in range(5):
            self.assertEqual(self.play("BO"), [1])
        self.assertEqual(self.reports[:2], [(1, TRAIN, BY_OPTIMIZER), (2, TRAIN, BY_OPTIMIZER)])

    def test_accumulation(self):
        self.expect_last("BBBBO")

    def test_parts_of_a_model(self):
        self.expect_last("BABC")
        self.assertEqual(len(self.reports), 5)

    def test_generator_and_discriminator(self):
        self.expect_last("BDBG")

    def test_an_optimizer_that_steps_several_times(self):  # sub-groups of ZeRO-3, super().step()
        self.expect_last("BOOO")

    def test_several_discriminator_steps(self):
        self.expect_last("BDBDBDBG")

    def test_an_optimizer_for_each_parameter(self):
        parameters = ["B", *range(300)]
        self.expect_last(parameters)

    def test_a_skipped_step(self):
        self.play_until_known("BO")
        self.assertEqual(self.play("BBOBO"), [1, 2, 4])  # the first O is missing
        self.assertEqual([number for number, _, _ in self.reports], [18, 19, 20])

    def test_a_skipped_step_with_accumulation(self):
        self.play_until_known("BBBO")
        self.assertEqual(self.play("BBBBBBO"), [3, 6])

    def test_a_short_step_at_the_end_of_an_epoch(self):
        self.play_until_known("BBBO")
        self.assertEqual(self.play("BO" + "BBBO"), [1, 5])

    def test_longer_accumulation_later(self):
        self.play_until_known("BO")
        for _ in range(8):
            self.play("BBBO")
        self.assertEqual(self.play("BBBO")[-1], 3)

    def test_another_optimizer_later(self):
        self.play_until_known("BO")
        for _ in range(8):
            self.play("BABC")
        self.reports.clear()
        self.assertEqual(self.play("BABC"), [3])

    def test_an_irregular_beginning(self):
        self.play("BXBYBX")
        self.play_until_known("BABC")
        self.assertEqual(len(self.play("BABC")), 1)

    def test_many_discriminator_steps(self):
        step = "BD" * 20 + "BG"
        self.play_until_known(step)
        self.assertEqual(self.play(step), [41])

    def test_no_sequence_at_all(self):
        import random

        chosen = random.Random(1)
        for _ in range(30000):
            self.play(["B", chosen.choice("ABCDEFGH")])
        self.assertLess(len(self.steps._all.symbols), 10000)
        self.assertGreater(self.steps.number, 10000)

    def test_an_evaluation_ends_at_train_or_backward(self):
        self.play("BOBO")
        self.reports.clear()
        self.steps.evaluation()
        self.steps.evaluation()
        self.steps.training()
        self.steps.evaluation()
        self.play("B")
        kinds = [kind for _, kind, _ in self.reports]
        self.assertEqual(kinds, [EVALUATION, TRAIN, EVALUATION, TRAIN])
        self.assertEqual({number for number, _, _ in self.reports}, {3})

    def test_no_evaluation_before_training(self):
        self.steps.evaluation()
        self.assertIsNone(self.steps.checkpoint())
        self.assertEqual(self.reports, [])

    def test_a_checkpoint_on_another_thread_is_no_part_of_the_loop(self):
        self.play("BO")
        self.reports.clear()
        thread = threading.Thread(target=lambda: (self.steps.checkpoint(), self.steps.evaluation()))
        thread.start()
        thread.join()
        self.assertEqual(self.reports, [])
        self.assertEqual(self.steps.checkpoint(), TRAIN)
        self.assertIsNone(self.steps.checkpoint())  # torch.save() inside another one
        self.assertEqual(self.reports, [(2, CHECKPOINT, BY_OPTIMIZER)])

    def in_thread(self, events):
        began = []
        thread = threading.Thread(target=lambda: began.extend(self.play(events)))
        thread.start()
        thread.join()
        return began

    def test_only_one_of_several_threads_that_train(self):
        self.play_until_known("BO")
        ends, began = threading.Event(), []

        def other():
            began.extend(self.play("BXBY" * 4))
            ends.wait()

        thread = threading.Thread(target=other)
        thread.start()
        for _ in range(5):
            self.assertEqual(self.play("BO"), [1])
        ends.set()
        thread.join()
        self.assertEqual(began, [])
        self.assertEqual(self.in_thread("O"), [])  # a thread without B of its own: no end of a step without a B
        self.play("B")
        self.assertEqual(self.in_thread("O"), [0])

    def test_a_thread_that_goes_on_alone_is_followed(self):
        self.play_until_known("BO")
        began = self.in_thread("BX" * 200)
        self.assertGreater(len(began), 100)
        self.assertEqual(self.in_thread("BX" * 20)[:1], [1])  # the one before has ended, so this one at once
        self.assertLess(len(self.play("BO" * 3)), 7)

    def test_after_a_ctrl_c_in_between(self):
        self.play_until_known("BABC")
        self.steps._at = 2  # as if interrupted before it is 0 again
        self.play("BABC" * 20)
        self.play_until_known("BABC")


class Step(unittest.TestCase):
    def test_it_reaches_the_agent(self):
        _agent.look_now()
        stub.stub_forget()
        self.assertTrue(cuspan.step(41))
        self.assertEqual(stub.stub_text().decode(), "step 41 kind 0 source 0\n")


if __name__ == "__main__":
    unittest.main()
