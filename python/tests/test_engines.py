"""The adapters of serving engines, with engines that consist of the functions which the adapters wrap. The real ones
run in tests/engines."""

import asyncio
import contextlib
import decimal
import gc
import types
import unittest
import weakref
from concurrent import futures
from unittest import mock

import grpc

import cuspan
from cuspan import _engine_front, _engine_sglang, _engine_tensorrt_llm, _engine_triton, _engine_vllm, _engines, _imports
from cuspan._engines import RAISED, hook
from cuspan._hook_points import ENGINES, functions
from tests.fake_engine_agent import DECODE, PREFILL, FakeAgent
from tests.support import of_current, tracer

FIRST = "00-0af7651916cd43dd8448eb211c80319c-00000000000000aa-01"
SECOND = "00-0af7651916cd43dd8448eb211c80319c-00000000000000bb-01"
FINISHED, ABORTED, FAILED = range(3)


class Refused(Exception):
    pass


def refuse(*_args, **_keywords):
    raise Refused


def points_of(name):
    """The functions that are wrapped, as labels name them."""
    engine = next(engine for engine in ENGINES if engine.name == name)
    return [f"{name} {point.owner}.{function}" for point in engine.points for function in functions(point)]


class Case(unittest.TestCase):
    def setUp(self):
        self.agent = FakeAgent()
        for name in "cuspan._guard._logged", "cuspan._engines._missing":
            patch = mock.patch(name, set())
            patch.start()
            self.addCleanup(patch.stop)


class Hooks(Case):
    def test_arguments_and_result_pass(self):
        seen = []
        made = types.SimpleNamespace(name=lambda *args, **keywords: (args, keywords))
        hook(made, "name", "x", lambda *args, **keywords: (args, keywords), lambda *given: seen.append(given))
        self.assertEqual(made.name(1, two=3), ((1,), {"two": 3}))
        self.assertEqual(seen, [(((1,), {"two": 3}), ((1,), {"two": 3}))])

    def test_an_exception_of_the_engine_passes(self):
        seen, made = [], types.SimpleNamespace(name=refuse)
        hook(made, "name", "x", after=lambda *given: seen.append(given))
        with self.assertRaises(Refused):
            made.name()
        self.assertEqual(seen, [(None, RAISED)])

    def test_ours_costs_one_line(self):
        made = types.SimpleNamespace(name=lambda: 5)
        hook(made, "name", "engine", refuse)
        with self.assertLogs("cuspan", "WARNING") as logged:
            self.assertEqual([made.name(), made.name()], [5, 5])
        self.assertEqual(len(logged.output), 1)
        self.assertIn("the hook of engine.name failed (Refused: )", logged.output[0])

    def test_an_error_of_an_extension_module(self):
        """Its last Python frame is ours, and its class is the engine's."""
        made = types.SimpleNamespace(name=lambda _: 5)
        hook(made, "name", "engine", decimal.Decimal)
        with self.assertLogs("cuspan", "WARNING"):
            self.assertEqual(made.name("x"), 5)

    def test_a_missing_function_costs_one_line(self):
        with self.assertLogs("cuspan", "WARNING") as logged:
            self.assertFalse(hook(types.SimpleNamespace(), "name", "engine"))
            self.assertFalse(hook(None, "name", "engine"))
            self.assertFalse(_engines.hook_init(None, "engine", lambda _: None))
        self.assertEqual(len(logged.output), 2)
        self.assertIn("there is no engine.name in this version", logged.output[0])

    def test_what_is_missing_without_it(self):
        with self.assertLogs("cuspan", "WARNING") as logged:
            hook(None, "_free_request", "vLLM Scheduler")
        self.assertIn("not traced: ends of requests; the engine is not affected", logged.output[0])

    def test_once(self):
        calls, made = [], types.SimpleNamespace(name=lambda: 5)
        for _ in range(2):
            self.assertTrue(hook(made, "name", "engine", lambda: calls.append(1)))
        made.name()
        self.assertEqual(calls, [1])

    def test_coroutines(self):
        """They end when their results are known."""

        class Engine:
            async def run(self, fails):
                await asyncio.sleep(0)
                seen.append("runs")
                return refuse() if fails else 5

        seen = []
        hook(Engine, "run", "engine", lambda *_: seen.append("before"), lambda *given: seen.append(given))
        self.assertEqual(asyncio.run(Engine().run(False)), 5)
        with self.assertRaises(Refused):
            asyncio.run(Engine().run(True))
        self.assertEqual(seen, ["before", "runs", (None, 5), "before", "runs", (None, RAISED)])

    def test_no_reference_is_left(self):
        class Output:
            pass

        made = types.SimpleNamespace(name=lambda _: Output())
        hook(made, "name", "engine", lambda given: given, lambda *_: None)
        given = Output()
        results = weakref.ref(made.name(given)), weakref.ref(given)
        del given
        self.assertEqual([result() for result in results], [None, None])

    def test_no_reference_is_left_by_an_error(self):
        """Also not until the next garbage collection: Triton's requests are in memory that it unmaps before that."""

        class Request:
            pass

        made = types.SimpleNamespace(name=lambda _: 5)
        hook(made, "name", "engine", refuse)
        given = Request()
        result = weakref.ref(given)
        gc.disable()
        self.addCleanup(gc.enable)
        with self.assertLogs("cuspan", "WARNING"):
            made.name(given)
        del given
        self.assertIsNone(result())

    def test_an_object_that_could_not_be_made(self):
        class Engine:
            def __init__(self):
                refuse()

        seen = []
        _engines.hook_init(Engine, "engine", seen.append)
        with self.assertRaises(Refused):
            Engine()
        self.assertEqual(seen, [])

    def test_modules(self):
        with mock.patch("cuspan._engines.when_imported") as waits:
            _engines._install(self.agent)
        names = [call.args[0] for call in waits.call_args_list]
        for name in "vllm.v1.engine.core", "vllm.worker.worker_base", "sglang.srt.managers.scheduler", "grpc":
            self.assertIn(name, names)

    def test_adapters_that_never_ran_are_off(self):
        for variable, expected in ("", False), ("x,tensorrt_llm", True):
            with (
                mock.patch.dict("os.environ", CUSPAN_ENGINES=variable),
                mock.patch("cuspan._engines.when_imported") as waits,
            ):
                _engines._install(self.agent)
            names = [call.args[0] for call in waits.call_args_list]
            self.assertIn("vllm.v1.engine.core", names)
            self.assertEqual("tensorrt_llm._torch.pyexecutor.py_executor" in names, expected)

    def test_nothing_without_iterations(self):
        self.agent.has_iterations = False
        with mock.patch("cuspan._engines.when_imported") as waits:
            _engines._install(self.agent)
        waits.assert_not_called()

    def test_the_adapter_is_imported_with_the_engine(self):
        module = types.ModuleType("starlette.applications")
        with (
            mock.patch("cuspan._engine_front.follow") as follow,
            mock.patch.dict("sys.modules", {module.__name__: module}),
            mock.patch.object(_imports, "finder", _imports._Finder()),
        ):
            _engines._install(self.agent)
        follow.assert_called_once_with(self.agent, module)


class Headers(dict):
    """Fails if another header is read."""

    def __iter__(self):
        given = [(name.encode(), value) for name, value in self.items()]
        return iter([(b"host", Secret()), *given, (b"authorization", Secret()), (b"x-tenant-2", Secret())])


class Secret:
    def decode(self, *_):
        raise AssertionError


class Front(Case):
    def application(self, ask=_engine_front.current):
        class Starlette:
            async def __call__(self, scope, receive, send):
                self.seen = await asyncio.create_task(self.admit())

            async def admit(self):
                return ask()

        _engine_front.follow(self.agent, types.SimpleNamespace(Starlette=Starlette))
        return Starlette()

    def call(self, application, *scopes):
        async def serve():
            seen = []
            for scope in scopes:
                await application(scope, None, None)
                seen.append(application.seen)
            return seen

        return asyncio.run(serve())

    def test_the_header_of_each_request(self):
        def scope(value):
            return {"type": "http", "headers": [(b"traceparent", value)]}

        seen = self.call(
            self.application(),
            {"type": "http", "headers": Headers(traceparent=FIRST.encode())},
            {"type": "http", "headers": []},
            scope(SECOND.encode()),
            scope(b"\xff"),
            {"type": "lifespan"},
        )
        self.assertEqual(seen, [(FIRST, ""), None, (SECOND, ""), None, None])

    def test_headers_of_the_setting(self):
        self.agent.engine_headers = ("x-tenant", "x-team", "traceparent")
        several = [(b"x-tenant", b"a"), (b"x-other", Secret()), (b"x-tenant", b"b"), (b"x-team", b"c")]
        given = [
            Headers({"traceparent": FIRST.encode(), "x-tenant": b"acme"}),
            several,
            [(b"x-team", b"\xe9\n\t " + b"9" * 4000)],
            [],
        ]
        application = self.application(_engine_front.attributes)
        seen = self.call(application, *({"type": "http", "headers": headers} for headers in given))
        self.assertEqual(seen[0], (("x-tenant", "acme"), ("traceparent", FIRST)))
        self.assertEqual(seen[1], (("x-tenant", "a, b"), ("x-team", "c")))
        self.assertEqual(seen[2], (("x-team", "??? " + "9" * 59),))
        self.assertEqual(seen[3], ())

    def test_the_programs_own_context_comes_first(self):
        application = self.application()
        scope = {"type": "websocket", "headers": [(b"traceparent", FIRST.encode())]}
        with cuspan.attach(SECOND, "a=b"):
            self.assertEqual(self.call(application, scope), [(SECOND, "a=b")])
        with tracer.start_as_current_span("x"):
            self.assertEqual(self.call(application, scope), [(of_current(), "")])

    def test_errors(self):
        with self.assertLogs("cuspan", "WARNING") as logged:
            self.assertEqual(self.call(self.application(), {"type": "http"}, {}), [None, None])
            _engine_front.follow(self.agent, types.ModuleType("empty"))
        self.assertEqual(len(logged.output), 2, logged.output)


class Grpc(Case):
    """Real servers and clients."""

    def setUp(self):
        super().setUp()
        self.agent.engine_headers = ("x-tenant",)
        self.seen = []
        self.grpc = types.SimpleNamespace(
            server=grpc.server,
            ServerInterceptor=grpc.ServerInterceptor,
            aio=types.SimpleNamespace(server=grpc.aio.server, ServerInterceptor=grpc.aio.ServerInterceptor),
        )
        _engine_front.follow_grpc(self.agent, self.grpc)

    def note(self):
        self.seen.append(_engine_front.current())
        self.assertEqual(_engine_front.attributes(), (("x-tenant", "a"),))
        return b""

    def call(self, port):
        for value in FIRST, None, SECOND:
            metadata = [("x-other", "1"), ("x-tenant", "a"), *([("traceparent", value)] if value else [])]
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                channel.unary_unary("/engine/Generate")(b"", metadata=metadata, timeout=20)
        self.assertEqual(self.seen, [(FIRST, ""), None, (SECOND, "")])

    def test_threads(self):
        def generate(_request, _context):
            return self.note()

        for arguments in ((), (None, ()), (None, None)):  # interceptors are the third argument, or a keyword
            self.seen.clear()
            server = self.grpc.server(futures.ThreadPoolExecutor(1), *arguments)
            server.add_generic_rpc_handlers((handlers(generate),))
            port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            self.call(port)
            server.stop(None).wait()

    def test_asyncio(self):
        """As in vLLM: the engine's function is called by a task of the handler."""

        class Own(grpc.aio.ServerInterceptor):
            async def intercept_service(self, continuation, details):
                order.append(_engine_front.current())
                return await continuation(details)

        async def generate(_request, _context):
            async def admit():
                return self.note()

            return await asyncio.create_task(admit())

        async def serve(*arguments, **keywords):
            server = self.grpc.aio.server(*arguments, **keywords)
            server.add_generic_rpc_handlers((handlers(generate),))
            port = server.add_insecure_port("127.0.0.1:0")
            await server.start()
            await asyncio.get_running_loop().run_in_executor(None, self.call, port)
            await server.stop(None)

        for arguments, keywords in ((), {}), ((), {"interceptors": [Own()]}), ((None, None, (Own(),)), {}):
            self.seen, order = [], []
            asyncio.run(serve(*arguments, **keywords))
            self.assertEqual(order, self.seen if arguments or keywords else [])

    def test_errors(self):
        with self.assertLogs("cuspan", "WARNING") as logged:
            with mock.patch("cuspan._engine_front._with_interceptor", refuse):
                self.grpc.server(futures.ThreadPoolExecutor(1)).stop(None)
            with mock.patch("cuspan._engine_front._note", refuse):
                server = self.grpc.server(futures.ThreadPoolExecutor(1))
                server.add_generic_rpc_handlers((handlers(lambda *_: b"fine"),))
                port = server.add_insecure_port("127.0.0.1:0")
                server.start()
                with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                    self.assertEqual(channel.unary_unary("/engine/Generate")(b"", timeout=20), b"fine")
                server.stop(None).wait()
        self.assertEqual(len(logged.output), 1, logged.output)
        self.assertIn("the hook of gRPC.server failed (Refused", logged.output[0])

    def test_without_servers(self):
        self.grpc.server = self.grpc.aio.server = None
        with self.assertLogs("cuspan", "WARNING") as logged:
            _engine_front.follow_grpc(self.agent, self.grpc)
        self.assertEqual(len(logged.output), 1, logged.output)
        self.assertIn("no gRPC.server in this version of the engine; not traced: contexts of gRPC", logged.output[0])


def handlers(generate):
    return grpc.method_handlers_generic_handler("engine", {"Generate": grpc.unary_unary_rpc_method_handler(generate)})


class Vllm(Case):
    """An engine in one process: EngineCore, a scheduler and a worker."""

    POINTS = [point.replace("AsyncModelRunnerOutput", "Output") for point in points_of("vLLM")]

    def made(self, traces=None):
        modules = fake_vllm()
        _engine_vllm.follow_front(self.agent, modules)
        _engine_vllm.follow_core(self.agent, modules)
        _engine_vllm.follow_worker(self.agent, modules)
        return Engine(modules, traces)

    def run_requests(self, engine):
        with cuspan.attach(FIRST, "a=b"):
            engine.add("a-0123abcd", prompt=5)
        engine.add("b", prompt=2)
        results = [engine.step({"a-0123abcd": 3})]
        results.append(engine.step({"a-0123abcd": 2, "b": 2}))
        results.append(engine.step({"a-0123abcd": 1, "b": 1}))
        engine.free("b", "abort")
        results.append(engine.step({"a-0123abcd": 3}, drafts={"a-0123abcd": [-1, -1]}))
        engine.preempt("a-0123abcd")
        results.append(engine.step({"a-0123abcd": 6}, resumed=["a-0123abcd"]))
        results.append(engine.step({"a-0123abcd": 2}))
        engine.dummy()
        engine.free("a-0123abcd", "length")
        results.append(engine.step({}))
        return results

    def test_iterations(self):
        engine = self.made()
        self.run_requests(engine)
        agent = self.agent
        first, second = agent.requests.values()
        self.assertEqual((first["id"], first["prompt"], first["cached"], first["arrived"]), ("a", 5, 0, 1500000000))
        self.assertEqual((first["context"].traceparent(), first["context"].tracestate), (FIRST, "a=b"))
        self.assertEqual((first["reason"], first["tokens"]), (FINISHED, 4))
        self.assertEqual((second["id"], second["context"]), ("b", None))
        self.assertEqual((second["reason"], second["tokens"]), (ABORTED, 2))
        a, b = 101, 102
        made = [one["parts"] for one in agent.iterations if one["kind"] == 0]
        self.assertEqual(
            made,
            [
                [(a, PREFILL, 0, 3, 0, 0)],
                [(b, PREFILL, 0, 2, 0, 0), (a, PREFILL, 0, 2, 3, 0)],
                [(a, DECODE, 0, 1, 5, 0), (b, DECODE, 0, 1, 2, 0)],
                [(a, DECODE, 0, 3, 6, 2)],
                [(a, PREFILL, 1, 6, 0, 0)],
                [(a, PREFILL, 0, 2, 6, 0)],
            ],
        )
        self.assertEqual([one["kind"] for one in agent.iterations], [0, 0, 0, 0, 0, 0, 1])
        self.assertEqual({(one["engine"], one["rank"], one["ranks"]) for one in agent.iterations}, {("vllm", 0, 2)})
        self.assertEqual([made["number"] for _, made in agent.threads], [1, 2, 3, 4, 5, 6])
        self.assertEqual(agent.open, 0)

    def test_headers_end_in_the_engine_unless_vllm_traces(self):
        for traces in None, "http://localhost":
            engine = self.made(traces)
            with cuspan.attach(FIRST):
                engine.add("a", prompt=5)
                engine.add("none", prompt=5, headers={})
                engine.add("b", prompt=5, headers={"traceparent": SECOND, "tracestate": "x=y"})
            engine.step({"a": 1, "none": 1, "b": 1})
            found = [engine.scheduler.requests[name].trace_headers for name in ("a", "none", "b")]
            wanted = [{"traceparent": FIRST}, {"traceparent": FIRST}, {"traceparent": SECOND, "tracestate": "x=y"}]
            self.assertEqual(found, wanted if traces else [None, None, None])
            context = list(self.agent.requests.values())[-1]["context"]
            self.assertEqual((context.traceparent(), context.tracestate), (SECOND, "x=y"))

    def test_headers_of_the_setting_travel_beside_them(self):
        given = (("x-tenant", "acme"), ("x-team", "7"))
        for traces in None, "http://localhost":
            engine = self.made(traces)
            with mock.patch("cuspan._engine_vllm.attributes", lambda: given), cuspan.attach(FIRST):
                engine.add("a", prompt=5)
                engine.add("b", prompt=5, headers={"traceparent": SECOND})
            engine.add("c", prompt=5)
            stamp = engine.scheduler.schedule({"a": 1, "b": 1, "c": 1}).cuspan
            self.assertEqual([new[-1] for new in stamp[5]], [given, given, ()])
            self.assertEqual([new[2] for new in stamp[5]], [(FIRST, ""), (SECOND, ""), None])
            found = [engine.scheduler.requests[name].trace_headers for name in ("a", "b", "c")]
            self.assertEqual(found, [{"traceparent": FIRST}, {"traceparent": SECOND}, None] if traces else [None] * 3)

    def test_headers_without_a_context(self):
        engine = self.made("http://localhost")
        with mock.patch("cuspan._engine_vllm.attributes", lambda: (("x-tenant", "acme"),)):
            engine.add("a", prompt=5)
        [new] = engine.scheduler.schedule({"a": 1}).cuspan[5]
        self.assertEqual((new[2], new[-1]), (None, (("x-tenant", "acme"),)))

    def test_a_scheduler_that_frees_in_another_way(self):
        engine = self.made()
        engine.add("a", prompt=5)
        engine.step({"a": 5})
        engine.scheduler.finished.add("a")
        engine.step({})
        self.assertEqual([made["reason"] for made in self.agent.requests.values()], [FINISHED])

    def test_a_request_that_ends_in_the_queue(self):
        engine = self.made()
        engine.add("a", prompt=5)
        engine.free("a", "error")
        engine.step({})
        self.assertEqual([made["reason"] for made in self.agent.requests.values()], [FAILED])
        self.assertEqual(self.agent.iterations, [])

    def test_the_second_model_runner(self):
        """It gets preempted requests as new ones."""
        engine = self.made()
        engine.add("a", prompt=5)
        engine.step({"a": 5})
        engine.preempt("a")
        engine.step({"a": 6}, new=["a"])
        self.assertEqual(self.agent.iterations[-1]["parts"], [(101, PREFILL, 1, 6, 0, 0)])
        self.assertEqual(len(self.agent.requests), 1)

    def test_a_connectors_iteration(self):
        engine = self.made()
        engine.step({}, connector=object())
        self.assertEqual([made["kind"] for made in self.agent.iterations], [2])

    def test_workers_without_sample_tokens(self):
        modules = fake_vllm()
        del modules.Worker.sample_tokens
        _engine_vllm.follow_core(self.agent, modules)
        _engine_vllm.follow_worker(self.agent, modules)
        engine = Engine(modules)
        engine.add("a", prompt=5)
        engine.step({"a": 5})
        self.assertEqual([event[0] for event in self.agent.events], ["request", "iteration", "iteration end"])

    def test_compiled_graphs_of_ray(self):
        """They call a function of the wrapper, which calls neither of the worker's."""
        modules = fake_vllm()
        seen = []
        modules.WorkerWrapperBase.execute_model_ray = lambda _, given: seen.append(given) or (given, "output")
        _engine_vllm.follow_core(self.agent, modules)
        _engine_vllm.follow_worker(self.agent, modules)
        engine = Engine(modules)
        engine.add("a", prompt=5)
        output = engine.scheduler.schedule({"a": 5})
        self.assertEqual(engine.wrapper.execute_model_ray((output, None)), ((output, None), "output"))
        second = engine.scheduler.schedule({"a": 1})
        engine.wrapper.execute_model_ray(second)  # so in 0.11
        engine.wrapper.execute_model_ray((None, None))
        self.assertEqual(seen, [(output, None), second, (None, None)])
        self.assertEqual(
            [event[0] for event in self.agent.events],
            ["request", "iteration", "iteration end", "iteration", "iteration end"],
        )

    def test_0_11(self):
        """The wrapper of workers is in another module, and resumed requests are flags."""
        _engine_vllm.follow_worker(self.agent, types.ModuleType("vllm.v1.worker.worker_base"))
        cached = types.SimpleNamespace(req_ids=["a", "b"], resumed_from_preemption=[False, True])
        self.assertEqual(_engine_vllm._resumed_of(cached), {"b"})

    def test_the_slowest_iteration_is_sent_afterwards(self):
        engine = self.made()
        engine.add("a", prompt=5)
        engine.step({"a": 5})
        engine.free("a", "stop")
        engine.step({})
        self.assertEqual([made["number"] for made in self.agent.summaries], [1])
        self.assertEqual([event[0] for event in self.agent.events][-2:], ["summary", "end"])

    def test_a_model_that_fails(self):
        engine = self.made()
        engine.add("a", prompt=5)
        with mock.patch.object(engine.worker, "fails", True), self.assertRaises(Refused):
            engine.step({"a": 5})
        self.assertEqual(self.agent.events[-1], ("iteration end",))

    def test_each_hook_missing_or_raising(self):
        wanted = self.run_requests(Engine(fake_vllm()))
        original, seen = _engines.hook, set()
        for point in self.POINTS:
            for how in "missing", "raising":

                def broken(owner, name, label, before=None, after=None, point=point, how=how):
                    seen.add(f"{label}.{name}")
                    if f"{label}.{name}" == point and how == "missing":
                        return original(None, f"no {name}", label)
                    if f"{label}.{name}" == point:
                        before, after = before and refuse, after and refuse
                    return original(owner, name, label, before, after)

                with (
                    self.subTest(point, how=how),
                    mock.patch("cuspan._engine_vllm.hook", broken),
                    mock.patch("cuspan._engines.hook", broken),
                    self.assertLogs("cuspan", "WARNING") as logged,
                ):
                    self.doCleanups()
                    self.setUp()
                    self.assertEqual(self.run_requests(self.made()), wanted)
                    self.assertEqual(len(logged.output), 1, logged.output)
                    self.assertIn(point.rpartition(".")[2], logged.output[0])
        self.assertEqual(seen, set(self.POINTS))


def fake_vllm():
    """The part of vLLM that the adapter uses, new classes each time."""

    class OutputProcessor:
        def add_request(self, request, prompt=None):
            return request

    class EngineCore:
        def __init__(self, scheduler, traces):
            self.scheduler = scheduler
            self.vllm_config = types.SimpleNamespace(
                observability_config=types.SimpleNamespace(otlp_traces_endpoint=traces)
            )

    class Output:
        def get_output(self):
            return "tokens"

    class Worker:
        rank = 0
        parallel_config = types.SimpleNamespace(world_size=2)
        fails = False

        def execute_model(self, scheduler_output):
            return refuse() if self.fails else None

        def sample_tokens(self, grammar_output):
            return Output()

        def execute_dummy_batch(self):
            return "dummy"

    class WorkerWrapperBase:
        def init_worker(self, all_kwargs):
            self.worker = Worker()

    return types.SimpleNamespace(**locals(), __name__="vllm.v1.worker.worker_base")


class Disaggregated(Case):
    """One engine prefills, and another one, which gets its KV cache, decodes."""

    def test_both_requests_are_in_one_trace(self):
        agents, engines = [FakeAgent(), FakeAgent()], []
        for agent in agents:
            modules = fake_vllm()
            _engine_vllm.follow_front(agent, modules)
            _engine_vllm.follow_core(agent, modules)
            _engine_vllm.follow_worker(agent, modules)
            engines.append(Engine(modules))
        prefill, decode = engines
        with attached_header(FIRST):
            prefill.add("a", prompt=5)
        prefill.step({"a": 5})
        prefill.free("a", "length")
        prefill.step({}, connector=object())  # sends the cache
        with attached_header(FIRST):
            decode.add("a", prompt=5)
        decode.scheduler.requests["a"].num_computed_tokens = 4  # the last one is computed again
        for _ in range(3):
            decode.step({"a": 1})
        decode.free("a", "stop")
        decode.step({})
        requests = [made for agent in agents for made in agent.requests.values()]
        self.assertEqual([made["context"].traceparent() for made in requests], [FIRST, FIRST])
        self.assertEqual([(made["cached"], made["reason"]) for made in requests], [(0, FINISHED), (4, FINISHED)])
        kinds = [[made["kind"] for made in agent.iterations] for agent in agents]
        self.assertEqual(kinds, [[0, 2], [0, 0, 0]])
        phases = [[part[1] for made in agent.iterations for part in made["parts"]] for agent in agents]
        self.assertEqual(phases, [[PREFILL], [PREFILL, DECODE, DECODE]])
        # Iterations of the two are different traces, though their numbers are the same.
        self.assertEqual(len({made["seed"] for agent in agents for made in agent.iterations}), 2)


@contextlib.contextmanager
def attached_header(traceparent):
    """As in the handler of an HTTP request."""
    token = _engine_front._traceparent.set(traceparent)
    try:
        yield
    finally:
        _engine_front._traceparent.reset(token)


class Engine:
    """The loop of EngineCore, step by step."""

    def __init__(self, modules, traces=None):
        self.modules = modules
        self.front = modules.OutputProcessor()
        self.scheduler = Scheduler()
        self.core = modules.EngineCore(self.scheduler, traces)
        self.wrapper = modules.WorkerWrapperBase()
        self.wrapper.init_worker([])
        self.worker = self.wrapper.worker

    def add(self, name, prompt, headers=None):
        request = types.SimpleNamespace(
            request_id=name,
            num_prompt_tokens=prompt,
            num_tokens=prompt,
            num_computed_tokens=0,
            num_output_tokens=0,
            arrival_time=1.5,
            trace_headers=headers,
        )
        self.scheduler.requests[name] = self.front.add_request(request)

    def step(self, tokens, **options):
        output = self.scheduler.schedule(tokens, **options)
        result = self.worker.execute_model(output)
        if result is None and hasattr(self.worker, "sample_tokens"):
            result = self.worker.sample_tokens(None)
        result = result.get_output() if result is not None else None
        self.scheduler.update_from_output(output, result)
        return result

    def dummy(self):
        self.worker.execute_dummy_batch()

    def preempt(self, name):
        self.scheduler.requests[name].num_computed_tokens = 0

    def free(self, name, reason):
        request = self.scheduler.requests[name]
        request.get_finished_reason = lambda: reason
        self.scheduler._free_request(request)


class Scheduler:
    def __init__(self):
        self.requests = {}
        self._known = set()
        self.finished = set()

    def schedule(self, tokens, drafts=None, resumed=(), new=(), connector=None):
        new = [*new, *(name for name in tokens if name not in self._known)]
        self._known.update(new)
        cached = [name for name in tokens if name not in new]
        output = types.SimpleNamespace(
            num_scheduled_tokens=tokens,
            total_num_scheduled_tokens=sum(tokens.values()),
            scheduled_spec_decode_tokens=drafts or {},
            scheduled_new_reqs=[
                types.SimpleNamespace(req_id=name, num_computed_tokens=self.requests[name].num_computed_tokens)
                for name in new
            ],
            scheduled_cached_reqs=types.SimpleNamespace(
                req_ids=cached,
                num_computed_tokens=[self.requests[name].num_computed_tokens for name in cached],
                resumed_req_ids=set(resumed),
            ),
            kv_connector_metadata=connector,
            finished_req_ids=self.finished,
        )
        self.finished = set()
        for name, count in tokens.items():
            request = self.requests[name]
            request.num_computed_tokens += count
            if request.num_computed_tokens >= request.num_tokens:
                request.num_tokens = request.num_computed_tokens + 1 - len((drafts or {}).get(name, ()))
                request.num_computed_tokens = request.num_tokens - 1
                request.num_output_tokens = request.num_tokens - request.num_prompt_tokens
        return output

    def update_from_output(self, scheduler_output, model_runner_output):
        return {}

    def _free_request(self, request):
        del self.requests[request.request_id]
        self.finished.add(request.request_id)


class Sglang(Case):
    def made(self):
        class Scheduler:
            forward_ct = 0
            tp_rank, tp_size = 0, 2
            random_seed = 7
            fails = False

            def __init__(self, server_args, port_args):
                pass

            def run_batch(self, batch):
                self.forward_ct += 1
                return refuse() if self.fails else types.SimpleNamespace()

            def process_batch_result(self, batch, result):
                for request in batch.reqs:
                    request.output_ids.append(-1)

        _engine_sglang.follow(self.agent, types.SimpleNamespace(Scheduler=Scheduler))
        return Scheduler(None, types.SimpleNamespace(scheduler_input_ipc_name="ipc:///tmp/x"))

    def request(self, name, prompt):
        made = types.SimpleNamespace(rid=name, origin_input_ids=[-1] * prompt, output_ids=[], finished_reason=None)
        made.finished = lambda: made.finished_reason is not None
        return made

    def batch(self, mode, *requests, lens=(), prefixes=()):
        forward_mode = types.SimpleNamespace(
            is_prebuilt=lambda: mode == "prebuilt",
            is_idle=lambda: mode == "idle",
            is_decode_or_idle=lambda: mode in ("decode", "idle"),
        )
        return types.SimpleNamespace(
            forward_mode=forward_mode, reqs=requests, extend_lens=list(lens), prefix_lens=list(prefixes)
        )

    def run_batches(self, scheduler):
        a, b = self.request("a", 5), self.request("b", 3)
        batches = [
            self.batch("extend", a, lens=[5], prefixes=[0]),
            self.batch("mixed", b, a, lens=[3, 1], prefixes=[0, 5]),
            self.batch("decode", a, b),
            self.batch("extend", a, lens=[7], prefixes=[1]),  # after a retraction
            self.batch("idle"),
            self.batch("prebuilt"),
        ]
        for at, batch in enumerate(batches):
            result = scheduler.run_batch(batch)
            b.finished_reason = FINISH_ABORT() if at == 2 else b.finished_reason
            scheduler.process_batch_result(batch, result)
        return len(a.output_ids), len(b.output_ids)

    def test_iterations(self):
        self.run_batches(self.made())
        agent, a, b = self.agent, 101, 102
        self.assertEqual(
            [made["parts"] for made in agent.iterations],
            [
                [(a, PREFILL, 0, 5, 0, 0)],
                [(b, PREFILL, 0, 3, 0, 0), (a, DECODE, 0, 1, 5, 0)],
                [(a, DECODE, 0, 1, 6, 0), (b, DECODE, 0, 1, 3, 0)],
                [(a, PREFILL, 1, 7, 1, 0)],
                [],
            ],
        )
        self.assertEqual([made["number"] for made in agent.iterations], [1, 2, 3, 4, 5])
        self.assertEqual([made["kind"] for made in agent.iterations], [0, 0, 0, 0, 1])
        self.assertEqual([made["number"] for _, made in agent.threads], [1, 2, 3, 4, 5])
        self.assertEqual((agent.requests[b]["reason"], agent.requests[b]["tokens"]), (ABORTED, 2))
        self.assertEqual({(made["rank"], made["ranks"]) for made in agent.iterations}, {(0, 2)})
        self.assertEqual(agent.open, 0)

    def test_each_hook_missing_or_raising(self):
        wanted, original = (4, 2), _engines.hook
        label = "SGLang Scheduler."
        for point in (point[len(label) :] for point in points_of("SGLang") if point.startswith(label)):
            for how in "missing", "raising":

                def broken(owner, name, label, before=None, after=None, point=point, how=how):
                    if name == point and how == "missing":
                        return original(None, f"no {name}", label)
                    if name == point:
                        before, after = before and refuse, None
                    return original(owner, name, label, before, after)

                with (
                    self.subTest(point, how=how),
                    mock.patch("cuspan._engine_sglang.hook", broken),
                    self.assertLogs("cuspan", "WARNING") as logged,
                ):
                    self.assertEqual(self.run_batches(self.made()), wanted)
                    self.assertEqual(len(logged.output), 1, logged.output)
                self.doCleanups()
                self.setUp()

    def test_a_context_travels_with_the_times_of_a_request(self):
        class Times:
            def __getstate__(self):
                return {}

        class ServerTimes(Times):
            pass

        module = types.SimpleNamespace(ReqTimeStatsBase=Times, APIServerReqTimeStats=ServerTimes)
        _engine_sglang.follow_front(self.agent, module)
        given = f"00-{1:032x}-{1:016x}-01"
        with (
            mock.patch("cuspan._engine_sglang.current", return_value=(given, "")),
            mock.patch("cuspan._engine_sglang.attributes", return_value=(("x-tenant", "acme"),)),
        ):
            sent = ServerTimes().__getstate__()
        self.assertEqual(Times().__getstate__(), {})
        request = self.request("a", 5)
        request.time_stats = types.SimpleNamespace(**sent)
        self.made().run_batch(self.batch("extend", request, lens=[5], prefixes=[0]))
        found = self.agent.requests[101]
        self.assertEqual((found["context"].traceparent(), found["arrived"]), (given, sent["cuspan"][1]))
        self.assertIsNone(request.time_stats.cuspan)  # it does not come back with the outputs
        self.assertEqual(found["headers"], {"x-tenant": "acme"})
        self.assertIsNone(request.time_stats.cuspan)  # it does not come back with the outputs

    def test_versions(self):
        """Ranks are the scheduler's own, or in its `ps`, or global. Up to 0.5.5, batches are never prebuilt."""
        ranks = types.SimpleNamespace(tp_rank=0, tp_size=4)
        for version in "ps", "global":
            scheduler = type(self.made())
            module = types.SimpleNamespace(Scheduler=scheduler)
            if version == "ps":
                scheduler.ps = ranks
                del scheduler.tp_rank, scheduler.tp_size
            else:
                module.get_parallel = lambda: ranks
            scheduler.__init__ = lambda *_: None
            _engine_sglang.follow(self.agent, module)
            made = scheduler(None, types.SimpleNamespace(scheduler_input_ipc_name="ipc:///tmp/x"))
            batch = self.batch("extend", self.request("a", 5), lens=[5], prefixes=[0])
            del batch.forward_mode.is_prebuilt
            made.run_batch(batch)
            self.assertEqual(self.agent.iterations[-1]["ranks"], 4, version)

    def test_speculation(self):
        """A decode verifies drafts, and may accept tokens beyond the end of the request."""
        scheduler = type(self.made())
        for drafts, algorithm, wanted in (4, "NGRAM", (4, 3)), (4, None, (1, 0)), (None, "NGRAM", (1, 0)):
            arguments = types.SimpleNamespace(speculative_algorithm=algorithm, speculative_num_draft_tokens=drafts)
            made = scheduler(arguments, types.SimpleNamespace(scheduler_input_ipc_name="ipc:///tmp/x"))
            request = self.request("a", 5)
            made.run_batch(self.batch("extend", request, lens=[5], prefixes=[0]))
            result = made.run_batch(self.batch("decode", request))
            [(*_, tokens, _, found)] = self.agent.iterations[-1]["parts"]
            self.assertEqual((tokens, found), wanted)
            request.output_ids, request.finished_len, request.finished_reason = [-1] * 6, 4, "length"
            made.process_batch_result(self.batch("decode", request), result)
            self.assertEqual(list(self.agent.requests.values())[-1]["tokens"], 4)

    def test_data_parallelism_of_attention(self):
        """Ranks of tensor parallelism are several engines: each has a rank 0, a seed, and requests of its own."""
        scheduler, found = type(self.made()), []
        for rank in range(4):
            for parallel in (
                types.SimpleNamespace(tp_rank=rank, tp_size=4, attn_dp_size=2, attn_tp_size=1, pp_rank=1, pp_size=2),
                types.SimpleNamespace(tp_rank=rank, tp_size=4, attn_tp_size=2, pp_rank=1, pp_size=2),  # older ones
            ):
                scheduler.__init__ = lambda *_: None
                _engine_sglang.follow(self.agent, types.SimpleNamespace(Scheduler=scheduler, get_parallel=lambda p=parallel: p))
                made = scheduler(None, types.SimpleNamespace(scheduler_input_ipc_name="ipc:///tmp/x"))
                made.run_batch(self.batch("extend", self.request("a", 5), lens=[5], prefixes=[0]))
                found.append((self.agent.iterations[-1]["rank"], self.agent.iterations[-1]["ranks"]))
        self.assertEqual(found, [(2, 4)] * 2 + [(3, 4)] * 2 + [(2, 4)] * 2 + [(3, 4)] * 2)
        seeds = [made["seed"] for made in self.agent.iterations]
        self.assertEqual([seeds.index(seed) for seed in seeds], [0, 0, 0, 0, 4, 4, 4, 4])

    def test_a_token_that_is_not_known_yet(self):
        """With overlap, the decode after a retraction begins before the token of its prefill is known."""
        scheduler, request = self.made(), self.request("a", 5)
        scheduler.run_batch(self.batch("extend", request, lens=[5], prefixes=[0]))
        request.output_ids += [-1] * 3
        scheduler.run_batch(self.batch("extend", request, lens=[8], prefixes=[0]))
        scheduler.run_batch(self.batch("decode", request))
        a = 101
        request.output_ids += [-1] * 2
        scheduler.run_batch(self.batch("decode", request))
        parts = [made["parts"] for made in self.agent.iterations]
        self.assertEqual(parts[0], [(a, PREFILL, 0, 5, 0, 0)])
        self.assertEqual(parts[1:], [[(a, PREFILL, 1, 8, 0, 0)], [(a, DECODE, 0, 1, 8, 0)], [(a, DECODE, 0, 1, 9, 0)]])

    def test_a_request_that_was_prefilled_elsewhere(self):
        scheduler, known, other = self.made(), self.request("a", 5), self.request("b", 5)
        scheduler.run_batch(self.batch("extend", known, lens=[5], prefixes=[0]))
        known.output_ids += [-1] * 2
        for requests in (other, known), (known,):
            scheduler.run_batch(self.batch("decode", *requests))
            self.assertEqual(self.agent.iterations[-1]["parts"], [(101, DECODE, 0, 1, 6, 0)])
        self.assertEqual([made["number"] for made in self.agent.iterations], [1, 2, 3])

    def test_a_batch_that_fails(self):
        scheduler = self.made()
        scheduler.fails = True
        with self.assertRaises(Refused):
            scheduler.run_batch(self.batch("extend", self.request("a", 5), lens=[5], prefixes=[0]))
        self.assertEqual(self.agent.open, 0)


class FINISH_ABORT:
    pass


class LlmRequest:
    """Of TensorRT-LLM."""

    is_attention_dp_dummy = is_finished = is_finished_due_to_cancellation = False
    py_beam_width = 1

    def __init__(self, number, prompt, client=None):
        self.py_request_id, self.py_client_id = number, client
        self.prompt_len = self.py_orig_prompt_len = prompt
        self.context_current_position = self.context_chunk_size = self.generated = 0
        self.py_draft_tokens = None
        self.state = types.SimpleNamespace(name="CONTEXT_INIT")

    def get_num_tokens(self, _):
        return self.py_orig_prompt_len + self.generated

    def prefills(self, tokens, computed=0):
        self.context_chunk_size, self.context_current_position = tokens, computed
        return self

    def decodes(self, drafts=0):
        self.py_draft_tokens, self.state.name = [0] * drafts, "GENERATION_IN_PROGRESS"
        return self

    def ends(self, state="GENERATION_COMPLETE", finished=True, cancelled=False):
        self.state.name, self.is_finished, self.is_finished_due_to_cancellation = state, finished, cancelled
        return self


class TensorrtLlm(Case):
    def setUp(self):
        super().setUp()
        patch = mock.patch.dict("cuspan._engine_tensorrt_llm._notes", clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def made(self, rank=0, pp_size=1, attention=False):
        class GenerationRequest:
            def __init__(self, id, trace_headers=None):
                self.id, self.trace_headers = id, trace_headers

        class BaseWorker:
            def _enqueue_request(self, request, result_wait_queue=None):
                return request.id

        class PyExecutor:
            is_warmup, fails, enable_attention_dp = False, False, attention
            iter_counter = 5

            def __init__(self):
                self.dist = types.SimpleNamespace(rank=rank, pp_size=pp_size)

            def _forward_step(self, scheduled_requests, new_tensors_device=None):
                return refuse() if self.fails else {}

            def _sample_async(self, scheduled_batch, batch_outputs):
                return object()

            def _update_requests(self, sample_state):
                pass

            def _terminate_request(self, request):
                pass

        module = types.SimpleNamespace(
            GenerationRequest=GenerationRequest, BaseWorker=BaseWorker, PyExecutor=PyExecutor
        )
        for follow in _engine_tensorrt_llm.follow_front, _engine_tensorrt_llm.follow_worker, _engine_tensorrt_llm.follow:
            follow(self.agent, module)
        self.module = module
        return PyExecutor()

    def enqueue(self, *args):
        self.assertEqual(self.module.BaseWorker()._enqueue_request(self.module.GenerationRequest(*args)), args[0])

    def step(self, executor, context=(), generation=()):
        batch = types.SimpleNamespace(context_requests=list(context), generation_requests=list(generation))
        outputs = executor._forward_step(batch, None)
        executor._update_requests(executor._sample_async(batch, outputs))
        executor.iter_counter += 1

    def run_requests(self, executor):
        with attached_header(FIRST), mock.patch("cuspan._engine_tensorrt_llm.attributes", return_value=(("x-tenant", "a"),)):
            self.enqueue(31)
        self.enqueue(32, {"traceparent": SECOND, "tracestate": "a=b"})
        a, b, dummy = LlmRequest(1, 5, client=31), LlmRequest(2, 8, client=32), LlmRequest(9, 1)
        dummy.is_attention_dp_dummy = True
        self.step(executor, [a.prefills(3)])
        self.step(executor, [a.prefills(2, 3), b.prefills(4, 4), dummy])
        a.generated = b.generated = 1
        self.step(executor, generation=[a.decodes(), b.decodes(2), dummy])
        executor._terminate_request(a)  # it is paused
        a.prompt_len, a.generated = 7, 2
        self.step(executor, [a.prefills(5)], [b.decodes()])
        self.step(executor, [a.prefills(2, 5)])
        self.step(executor, generation=[a.decodes()])
        executor._terminate_request(b.ends(cancelled=True))
        executor._terminate_request(a.ends())
        executor._terminate_request(dummy)
        return a, b

    def test_iterations(self):
        executor = self.made()
        executor.is_warmup = True
        self.step(executor, [LlmRequest(7, 3).prefills(3)])
        executor.is_warmup = False
        self.run_requests(executor)
        agent, (a, b) = self.agent, (101, 102)
        self.assertEqual(
            [made["parts"] for made in agent.iterations],
            [
                [(a, PREFILL, 0, 3, 0, 0)],
                [(a, PREFILL, 0, 2, 3, 0), (b, PREFILL, 0, 4, 4, 0)],
                [(a, DECODE, 0, 1, 5, 0), (b, DECODE, 0, 3, 8, 2)],
                [(a, PREFILL, 1, 5, 0, 0), (b, DECODE, 0, 1, 8, 0)],
                [(a, PREFILL, 0, 2, 5, 0)],
                [(a, DECODE, 0, 1, 7, 0)],
            ],
        )
        self.assertEqual([made["number"] for made in agent.iterations], list(range(6, 12)))
        found = [(made["id"], made["prompt"], made["cached"]) for made in agent.requests.values()]
        self.assertEqual(found, [("31", 5, 0), ("32", 8, 4)])
        contexts = [made["context"] for made in agent.requests.values()]
        self.assertEqual([made.traceparent() for made in contexts], [FIRST, SECOND])
        self.assertEqual((contexts[1].tracestate, agent.requests[a]["headers"]), ("a=b", {"x-tenant": "a"}))
        ends = [(made["reason"], made["tokens"]) for made in agent.requests.values()]
        self.assertEqual(ends, [(FINISHED, 2), (ABORTED, 1)])
        self.assertEqual((agent.open, _engine_tensorrt_llm._notes), (0, {}))

    def test_failed_requests(self):
        executor, request = self.made(), LlmRequest(1, 3)
        self.step(executor, [request.prefills(3)])
        executor._terminate_request(request.ends(finished=False))
        self.assertEqual([(made["id"], made["reason"]) for made in self.agent.requests.values()], [("1", FAILED)])
        self.assertEqual([made["number"] for made in self.agent.summaries], [5])
        executor.fails = True
        with self.assertRaises(Refused):
            self.step(executor, [LlmRequest(2, 3).prefills(3)])
        self.assertEqual(self.agent.open, 0)

    def test_ranks(self):
        """Only rank 0, except if each has requests of its own. No stages of a pipeline."""
        for arguments, expected in ((1, 1, False), 0), ((1, 1, True), 1), ((0, 2, False), 0):
            self.agent.iterations.clear()
            self.step(self.made(*arguments), [LlmRequest(1, 3).prefills(3)])
            self.assertEqual(len(self.agent.iterations), expected, arguments)

    def test_requests_that_are_never_scheduled(self):
        self.made()
        for at in range(_engine_tensorrt_llm._NOTES_MAX + 5):
            self.enqueue(at)
        self.assertEqual(list(_engine_tensorrt_llm._notes)[0], 5)

    def test_each_hook_missing_or_raising(self):
        original, points = _engines.hook, points_of("TensorRT-LLM")
        for point in points:
            for how in "missing", "raising":

                def broken(owner, name, label, before=None, after=None, point=point, how=how):
                    label_of = label.replace("BaseWorker", "BaseWorker|GenerationExecutorWorker")
                    if f"{label_of}.{name}" == point and how == "missing":
                        return original(None, name, label)
                    if f"{label_of}.{name}" == point:
                        before, after = before and refuse, after and (refuse if before is None else None)
                    return original(owner, name, label, before, after)

                with (
                    self.subTest(point, how=how),
                    mock.patch("cuspan._engine_tensorrt_llm.hook", broken),
                    mock.patch("cuspan._engines.hook", broken),
                    self.assertLogs("cuspan", "WARNING") as logged,
                ):
                    self.run_requests(self.made())
                    self.assertEqual(len(logged.output), 1, logged.output)
                self.doCleanups()
                self.setUp()


class TritonRequest:
    def __init__(self, name, parameters="", rows=1, context=None):
        self.name, self.text, self.rows, self.context = name, parameters, rows, context

    def request_id(self):
        return self.name

    def parameters(self):
        return self.text

    def inputs(self):
        return [types.SimpleNamespace(shape=lambda: [self.rows, 4])]

    def trace(self):
        return types.SimpleNamespace(get_context=lambda: self.context)


class TritonResponse:
    def __init__(self, code=None):
        self.code = code

    def has_error(self):
        return self.code is not None

    def error(self):
        return types.SimpleNamespace(code=lambda: self.code, CANCELLED=7)


class Triton(Case):
    """As Triton's stub: the utilities are imported, then the model, then TritonError is set and the instance made."""

    def made(self, execute=lambda _, requests: [TritonResponse() for _ in requests], rows=8, late=False):
        class TritonPythonModel:
            def initialize(self, args):
                pass

        TritonPythonModel.execute = execute
        utilities, model = types.ModuleType("triton_python_backend_utils"), types.ModuleType("1.model")
        if not late:
            _engine_triton.follow(self.agent, utilities)
        model.TritonPythonModel, model.other = TritonPythonModel, None
        with mock.patch.dict("sys.modules", {"1.model": model, "gone": None}):
            utilities.TritonError = utilities.Tensor = object
            if late:
                _engine_triton.follow(self.agent, utilities)
        self.assertIs(type(utilities), types.ModuleType)
        made = TritonPythonModel()
        made.initialize({"model_name": "m", "model_config": f'{{"max_batch_size": {rows}}}'})
        return made

    def test_iterations(self):
        for late in False, True:
            made = self.made(late=late)
            made.execute([TritonRequest("a", rows=3), TritonRequest("", rows=2)])
            made.execute([TritonRequest("b")])
            agent, (a, c, b) = self.agent, (101, 102, 103)
            self.assertEqual(
                [made["parts"] for made in agent.iterations],
                [[(a, PREFILL, 0, 3, 0, 0), (c, PREFILL, 0, 2, 0, 0)], [(b, PREFILL, 0, 1, 0, 0)]],
            )
            self.assertEqual({made["engine"] for made in agent.iterations}, {"triton m"})
            self.assertEqual([made["number"] for made in agent.summaries], [1, 2])
            self.assertEqual([made["number"] for made in agent.iterations], [1, 2])
            self.assertEqual([made["id"] for made in agent.requests.values()], ["a", "", "b"])
            self.assertEqual({(made["prompt"], made["reason"]) for made in agent.requests.values()}, {(3, 0), (2, 0), (1, 0)})
            kinds = [event[0] for event in agent.events if event[0] != "summary"]
            self.assertEqual(kinds, ["request", "request", "iteration", "iteration end", "end", "end"] + ["request", "iteration", "iteration end", "end"])
            self.setUp()

    def test_models_that_do_not_batch(self):
        self.made(rows=0).execute([TritonRequest("a", rows=300)])
        self.assertEqual(self.agent.iterations[0]["parts"], [(101, PREFILL, 0, 1, 0, 0)])

    def test_contexts(self):
        self.agent.engine_headers = ("x-tenant",)
        made = self.made()
        own = f'{{"traceparent": "{SECOND}", "tracestate": "a=b"}}'
        header = f'{{"TraceParent": "{FIRST}", "X-Tenant": "acme", "prompt": "x", "number": 1}}'
        nested = f'{{"other": "\\"traceparent\\": \\"{FIRST}\\"", "traceparent": 5}}'
        given = [(header, None), (header, own), (header, "{}"), (nested, ""), ("", None)]
        for parameters, context in given:
            made.execute([TritonRequest("a", parameters, context=context)])
        found = [(one["context"] and one["context"].traceparent()) for one in self.agent.requests.values()]
        self.assertEqual(found, [FIRST, SECOND, FIRST, None, None])
        self.assertEqual(self.agent.requests[102]["context"].tracestate, "a=b")
        self.assertEqual([one.get("headers") for one in self.agent.requests.values()], [{"x-tenant": "acme"}] * 3 + [None] * 2)

    def test_versions_without_traces(self):
        made, plain = self.made(), TritonRequest("a")
        plain.trace = lambda: types.SimpleNamespace()
        without = types.SimpleNamespace(request_id=lambda: "b", parameters=lambda: "", inputs=plain.inputs)
        made.execute([plain, without])
        self.assertEqual([one["context"] for one in self.agent.requests.values()], [None, None])

    def test_how_requests_end(self):
        def execute(_, requests):
            return [TritonResponse(), TritonResponse(7), TritonResponse(1), None]

        self.made(execute).execute([TritonRequest(str(at)) for at in range(4)])
        self.made(lambda *_: None).execute([TritonRequest("decoupled")])
        with self.assertRaises(Refused):
            self.made(refuse).execute([TritonRequest("raises")])
        reasons = [made["reason"] for made in self.agent.requests.values()]
        self.assertEqual(reasons, [FINISHED, ABORTED, FAILED, FINISHED, FINISHED, FAILED])
        self.assertEqual(self.agent.open, 0)

    def test_a_derived_class_that_calls_the_other(self):
        made = self.made()

        class Derived(type(made)):
            def execute(self, requests):
                return super().execute(requests)

        model = types.ModuleType("2.model")
        model.TritonPythonModel = Derived
        engine = type(made).execute.__wrapped__
        type(made).execute = engine
        base = types.ModuleType("base")
        base.TritonPythonModel = type(made)
        with mock.patch.dict("sys.modules", {"base": base, "2.model": model}):
            _engine_triton._follow_models(self.agent)
        Derived().execute([TritonRequest("a")])
        self.assertEqual((len(self.agent.iterations), len(self.agent.requests)), (1, 1))

    def test_errors(self):
        """Of a request, of the agent, and without a model: one line each."""
        with self.assertLogs("cuspan", "WARNING") as logged:
            made = self.made()
            self.assertEqual(len(made.execute([TritonRequest("a", "{")])), 1)
            self.assertEqual(self.agent.iterations, [])
            self.agent.iteration = refuse
            self.assertEqual(len(made.execute([TritonRequest("a")])), 1)
            del self.agent.iteration
            _engine_triton._follow_models(self.agent)
        self.assertEqual(len(logged.output), 2, logged.output)
        self.assertIn("the hook of tritonserver TritonPythonModel.execute failed", logged.output[0])
        self.assertIn("there is no tritonserver.TritonPythonModel", logged.output[1])
        made.execute([TritonRequest("b")])
        self.assertEqual(len(self.agent.iterations), 1)


if __name__ == "__main__":
    unittest.main()
