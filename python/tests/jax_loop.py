"""JAX has no hook, so its loop calls cuspan.step(). Needs jax, on a CPU:

    python -m tests.jax_loop"""

import unittest

import jax
import jax.numpy as jnp

import cuspan
from cuspan import _agent
from tests.support import stub

STEPS = 12


class Loop(unittest.TestCase):
    def test_each_step_is_reported_once(self):
        @jax.jit
        def update(weights, inputs):
            gradient = jax.grad(lambda w: jnp.square(inputs @ w).mean())(weights)
            return weights - 0.1 * gradient

        _agent.look_now()
        stub.stub_forget()
        weights, inputs = jnp.ones((4, 4)), jnp.ones((2, 4))
        for number in range(1, STEPS + 1):
            self.assertTrue(cuspan.step(number))
            weights = update(weights, inputs)
        weights.block_until_ready()
        expected = [f"step {number} kind 0 source 0" for number in range(1, STEPS + 1)]
        self.assertEqual(stub.stub_text().decode().splitlines(), expected)


if __name__ == "__main__":
    unittest.main(verbosity=2)
