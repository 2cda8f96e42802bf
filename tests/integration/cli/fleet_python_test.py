#!/usr/bin/env python3
"""`cuspan.fleet` in Python: arguments, signatures, large answers, plots over time, and Ctrl-C.

    fleet_python_test.py --build BUILD-DIR [unittest's arguments]

It needs duckdb and matplotlib: fleet_test.sh gets them from PyPI."""

import contextlib
import inspect
import io
import math
import os
import pydoc
import signal
import threading
import unittest
import unittest.mock
from datetime import date, datetime, timedelta, timezone

import fleet_test  # the folder of this file is in sys.path
from fleet_test import HOUR_NS, START, Folder, document, kernel

import cuspan.fleet
from cuspan.fleet import Answer, Problem
from cuspan.fleet.__main__ import main as command

ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE (a.range * b.range) % 7 = 3"


class Arguments(Folder):
    def setUp(self):
        super().setUp()
        self.fleet = self.open(self.export(document([kernel(1, 1000, name="a"), kernel(2, 2000, name="b", start=START + HOUR_NS)],
                                                    slurm__job__id="4711")))

    def names(self, **options):
        return [row["name"] for row in self.fleet.kernels(**options).dicts()]

    def test_times(self):
        later = "2026-09-21T15:00"
        moment = datetime(2026, 9, 21, 15, tzinfo=timezone.utc)
        for since in (later, f"{later}Z", "2026-09-21 15:00:00", moment, moment.replace(tzinfo=None),
                      moment.astimezone(timezone(timedelta(hours=2))), int(moment.timestamp()) * 10**9):
            self.assertEqual(self.names(since=since), ["b"], since)
            self.assertEqual(self.names(until=since), ["a"], since)
        for day in "2026-09-21", date(2026, 9, 21):
            self.assertEqual(sorted(self.names(since=day)), ["a", "b"])
            self.assertEqual(self.names(until=day), [])

    def test_numbers_and_texts(self):
        for filters in {"gpu": 0}, {"gpu": "0"}, {"gpu": "GPU-1"}, {"job": 4711}, {"job": "4711"}, {"service": "a"}, {"top": 5}:
            self.assertEqual(len(self.names(**filters)), 2, filters)
        for filters in {"gpu": 7}, {"rank": "3"}, {"rank": 3}, {"host": "'"}, {"release": "\0"}:
            self.assertEqual(self.names(**filters), [], filters)

    def test_what_is_refused_in_one_line(self):
        class Odd:
            def __repr__(self):
                raise ValueError

        odd = ["five", "", 1.5, float("nan"), -1, 2**80, True, b"x", [1], {}, object(), Odd(), "\ud800"]
        taken = {"since": [-1, True and -1], "until": [-1], "service": ["five", ""], "host": ["five", ""], "release": ["five", ""],
                 "job": ["five", "", -1, 2**80], "gpu": ["five", "", -1, 2**80], "distinct": [True]}
        for name in ("by", "top", "distinct", "since", "until", "service", "job", "host", "gpu", "rank", "release", "unknown"):
            for value in odd:
                if any(value is each or (type(value) is type(each) and value == each) for each in taken.get(name, [])):
                    continue
                with self.subTest(name, value=type(value)), self.assertRaises(Problem) as caught:
                    self.fleet.kernels(**{name: value})
                self.assertEqual(len(str(caught.exception).splitlines()), 1)
                self.assertIn(name, str(caught.exception).replace("cannot group by", "by"))
        for value in [None, *odd]:
            for call in (lambda: self.fleet.ask(value), lambda: self.fleet.sql("SELECT 1", value), lambda: self.fleet.sql(value),
                         lambda: cuspan.fleet.open(value), lambda: cuspan.fleet.open(self.work / "fleet", memory_limit=value),
                         lambda: cuspan.fleet.open(self.work / "fleet", threads=value)):
                with contextlib.suppress(Problem, fleet_test.duckdb.Error):  # the engine's, about the text of a query
                    made = call()
                    if isinstance(made, cuspan.fleet.Fleet):
                        made.close()

    def test_help(self):
        # Python 3.13 wraps long signatures.
        shown = " ".join(pydoc.plain(pydoc.render_doc(self.fleet.kernels)).split()).replace("( ", "(")
        for part in "kernels(*, by: ", "top: ", "since: ", "GPU time; concurrent kernels add up.", "nanoseconds since 1970":
            self.assertIn(part, shown)
        self.assertNotIn("partial", shown)
        for name, asked in cuspan.fleet.questions().items():
            method = getattr(self.fleet, name)
            self.assertTrue(inspect.ismethod(method))
            self.assertTrue(method.__doc__.startswith(asked.title))
            self.assertEqual(list(inspect.signature(method).parameters)[:3], ["by", "top", "distinct"])
            self.assertIn(name, dir(self.fleet))
        with self.assertRaises(AttributeError):
            self.fleet.nonsense


class Large(unittest.TestCase):
    def test_str_shows_the_first_rows(self):
        answer = Answer("q", "Title", ["name", "total_ns"], [(f"n{i}", i) for i in range(100_000)], ["A note."])
        for text in str(answer), repr(answer):
            self.assertEqual(len(text.splitlines()), 204)
            self.assertIn("n199", text)
            self.assertTrue(text.endswith("A note.\n99800 more rows; text(), csv(), json() and df() have all."))
        self.assertEqual(answer._repr_html_().count("<tr>"), 201)
        self.assertEqual((len(answer.text().splitlines()), len(answer.rows)), (100_003, 100_000))

    def test_the_type_of_a_column_is_found_once(self):
        answer = Answer("q", "Title", ["total_ns", "count"], [(i, i) for i in range(1000)])
        with unittest.mock.patch.object(Answer, "_column", autospec=True, side_effect=Answer._column) as found:
            answer.text()
        self.assertEqual(found.call_count, 2)


class PlotsOverTime(Folder):
    def test_all_hours_with_gaps(self):
        from matplotlib.figure import Figure

        hours = [hour for hour in range(30) if hour not in (5, 6, 20)]
        spans = [kernel(10 * hour + 1, 1_000_000 * (hour + 1), name="a", start=START + hour * HOUR_NS) for hour in hours]
        spans += [kernel(10 * hour + 2, 1000, name="b", start=START + hour * HOUR_NS) for hour in (0, 1, 29)]
        answer = self.open(self.export(document(spans))).kernels(by="hour", top=3)
        self.assertEqual(len({row[0] for row in answer.rows}), 3)
        axes = answer.plot(Figure().add_subplot())
        points = {line.get_label(): list(zip(line.get_xdata(), line.get_ydata())) for line in axes.lines}
        self.assertEqual({place for place, number in points["a"] if not math.isnan(number)}, set(hours))
        self.assertEqual([place for place, number in points["a"] if math.isnan(number)], [5, 20])
        self.assertEqual([place for place, _ in points["b"]], [0, 1, 2, 29])
        self.assertTrue(math.isnan(points["b"][2][1]))
        self.assertEqual(list(axes.get_xticks()), hours)

    def test_many_days(self):
        from matplotlib.figure import Figure

        spans = [kernel(day + 1, 1000, name="a", start=START + day * 24 * HOUR_NS) for day in range(100)]
        axes = self.open(self.export(document(spans))).kernels(by="day").plot(Figure().add_subplot())
        self.assertEqual(len(axes.lines[0].get_xdata()), 100)
        self.assertLessEqual(len(axes.get_xticks()), 40)


@unittest.skipUnless(threading.current_thread() is threading.main_thread(), "signals reach the main thread only")
class Interrupted(Folder):
    """Each query here would take years."""

    def setUp(self):
        super().setUp()
        self.folder = self.export(document([kernel(1, 1000)]))

    @contextlib.contextmanager
    def endless(self, engine):
        run = engine._run

        def endless(text, values, connection=None):
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            return run(ENDLESS, {}, connection)

        with unittest.mock.patch.object(engine, "_run", endless):
            yield

    def test_a_question(self):
        fleet = self.open(self.folder)
        for _ in range(2):
            with self.endless(fleet.engine), self.assertRaises(KeyboardInterrupt):
                fleet.kernels()
            self.assertEqual(fleet.engine._running, [])
            self.assertEqual(len(fleet.kernels().rows), 1)  # the next one works

    def test_a_query_of_ones_own(self):
        fleet = self.open(self.folder)
        with self.endless(fleet.engine), self.assertRaises(KeyboardInterrupt):
            fleet.sql("SELECT 1")
        self.assertEqual(fleet.sql("SELECT 1").fetchone(), (1,))

    def test_what_another_handler_raises(self):
        fleet = self.open(self.folder)

        def handler(*_):
            raise TimeoutError("mine")

        before = signal.signal(signal.SIGINT, handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with self.endless(fleet.engine), self.assertRaisesRegex(TimeoutError, "mine"):
            fleet.sql("SELECT 1")

    def test_the_command(self):
        from cuspan.fleet import _engine_duckdb

        run = _engine_duckdb.DuckDB._run

        def endless(engine, text, values, connection=None):
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            return run(engine, ENDLESS, {}, connection)

        with unittest.mock.patch.object(_engine_duckdb.DuckDB, "_run", endless), contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(command(["kernels", str(self.folder)]), 130)
        self.assertEqual(err.getvalue(), "")

    def test_closing_hours(self):
        from cuspan.fleet import _close

        def endless(closer, *_arguments):
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            closer._connection.execute(ENDLESS).fetchall()

        with unittest.mock.patch.object(_close._Closer, "close", endless), self.assertRaises(KeyboardInterrupt):
            _close.close(self.folder, 2**62)
        self.assertEqual(len(_close.close(self.folder, 2**62).rows), 1)

    def test_on_another_thread(self):
        results = []
        thread = threading.Thread(target=lambda: results.append(self.open(self.folder).kernels().rows))
        thread.start()
        thread.join()
        self.assertEqual(len(results[0]), 1)


if __name__ == "__main__":
    unittest.main()
