#!/usr/bin/env python3
"""The Grafana dashboards in deploy/fleet/grafana: every query runs on the spans of all recordings, with macros and variables as
the ClickHouse plugin expands them; tables have the rows of `cuspan fleet`; values of variables are data.

    dashboards_test.py [--build BUILD-DIR] [unittest's arguments]

It needs chdb and duckdb: clickhouse_test.sh gets them from PyPI."""

import json
import os
import re
import unittest
from urllib.parse import quote

import clickhouse_case  # noqa: F401, which finds the modules below
import cuspan.fleet
import gen_grafana
from built import output_of
from clickhouse_case import START, ClickHouse, document, span

DASHBOARDS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(gen_grafana.FOLDER.glob("*.json"))}
ALL = {name: "*" for name in ("service", "host", "job", "gpu")} | {"trace": ""}
HOSTILE = ["it's", "' OR 1 = 1 --", "\\", "\\' OR 1 = 1 --", "\\\\' OR ''='", "'); DROP TABLE cuspan.stored_spans --", '"', "a\nb", "$__timeFilter(x)",
           "${host:raw}", "{a,b}", "%27", "%", "100 %", "\N{SNOWMAN}", "*/", "`", "a,b", "?", "{x:String}"]


def expand(sql, variables, since, until, interval_s=10):
    """As Grafana and the plugin do: variables first, then macros."""
    used = set(re.findall(r"\$\{(\w+):percentencode\}", sql))
    sql = re.sub(r"\$\{(\w+):percentencode\}", lambda found: quote(variables[found.group(1)], safe="-_.~"), sql)
    first, last = f"toDateTime({since})", f"toDateTime({until})"
    sql = re.sub(r"\$__timeFilter\((\w+)\)", lambda found: f"{found.group(1)} >= {first} AND {found.group(1)} <= {last}", sql)
    sql = re.sub(r"\$__timeInterval\((\w+)\)", rf"toStartOfInterval(toDateTime(\1), INTERVAL {interval_s} second)", sql)
    for macro, text in (("$__fromTime", first), ("$__toTime", last), ("$__interval_s", str(interval_s))):
        sql = sql.replace(macro, text)
    # Anything else would reach the server as it is, or as another form of a variable, which can end a string.
    assert "$" not in sql.replace("32}$'", ""), sql
    return sql, used


def panels():
    for name, dashboard in DASHBOARDS.items():
        for panel in dashboard["panels"]:
            yield name, panel


def in_order(rows):
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))


def rounded(row, names):
    return {name: f"{value:.4g}" if name.endswith(("share", "concurrency", "per_s", "busbw", "mean_requests")) else value
            for name, value in row.items() if name in names and value is not None}


def panel_of(dashboard, title):
    """The table of this title."""
    return next(panel for name, panel in panels() if name == dashboard and panel["title"] == title and panel["type"] != "stat")


class Dashboards(ClickHouse):
    """On the spans of all recordings."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.load_recordings()
        output_of("export", "-q", "-o", cls.work / "fleet", cls.lines)
        cls.fleet = cuspan.fleet.open(cls.work / "fleet")
        since, until = cls.rows("SELECT toString(toUnixTimestamp(min(time))), toString(toUnixTimestamp(max(time)) + 1) FROM cuspan.stored_spans")[0]
        cls.range = int(since), int(until)

    @classmethod
    def tearDownClass(cls):
        cls.fleet.close()
        super().tearDownClass()

    def ask(self, sql, variables=ALL, since=None, until=None, interval_s=10):
        return self.dicts(expand(sql, variables, since or self.range[0], until or self.range[1], interval_s)[0])

    def test_every_query_has_rows(self):
        trace = self.value("SELECT lower(hex(trace_id)) FROM cuspan.spans WHERE activity = 'kernel' LIMIT 1")
        count = 0
        for name, panel in panels():
            with self.subTest(f"{name}: {panel['title']}"):
                for target in panel["targets"]:
                    count += 1
                    self.assertGreater(len(self.ask(target["rawSql"], {**ALL, "trace": trace})), 0)
        for name, dashboard in DASHBOARDS.items():
            for variable in dashboard["templating"]["list"]:
                if variable["type"] == "query":
                    with self.subTest(f"{name}: {variable['name']}"):
                        count += 1
                        found = self.ask(variable["query"]["rawSql"])
                        self.assertEqual(found[0], {"value": "*", "text": "All"})
                        # No recording has a job of Slurm or Kubernetes.
                        self.assertGreater(len(found), 0 if variable["name"] == "job" else 1)
        self.assertGreaterEqual(count, 40)

    def test_every_query_without_spans(self):
        for name, panel in panels():
            with self.subTest(f"{name}: {panel['title']}"):
                rows = self.ask(panel["targets"][0]["rawSql"], since=1, until=2)
                self.assertTrue(not rows or (panel["type"] == "stat" and rows[0]["value"] in (0, None, "nan")), rows)

    def test_tables_equal_the_answers_of_cuspan_fleet(self):
        compared = 0
        for key, question in gen_grafana.questions().items():
            with self.subTest(key):
                panel = panel_of(*key)
                expected = self.fleet.ask(question, top=0).dicts()
                found = self.ask(panel["targets"][0]["rawSql"])
                names = {name for row in expected for name in row} & set(found[0])
                self.assertGreaterEqual(len(names), 3)
                expected = [rounded(row, names) for row in expected]
                found = [rounded(row, names) for row in found]
                if len(expected) > 200:  # the limit of the panel
                    self.assertEqual(len(found), 200)
                    expected = expected[:200]
                self.assertEqual(in_order(found), in_order(expected))
                compared += len(found)
        self.assertGreater(compared, 300)

    def test_tables_of_one_service(self):
        panel = panel_of("fleet", "Kernels")
        for service in ("slow_step.py", "requests", "graph"):
            expected = self.fleet.ask("kernels", top=0, service=service).dicts()
            found = self.ask(panel["targets"][0]["rawSql"], {**ALL, "service": service})
            self.assertEqual(sum(row["total_ns"] for row in found), sum(row["total_ns"] for row in expected))
            self.assertEqual(sum(row["count"] for row in found), sum(row["count"] for row in expected))
            self.assertGreater(len(found), 0)

    def test_busy_time_over_time_adds_up(self):
        """The sum over all intervals is the busy time of all GPUs."""
        panel = panel_of("gpu", "Utilization by process")
        gpu = self.value("SELECT hw_id FROM cuspan.dashboard_spans WHERE class = 'kernel' GROUP BY hw_id ORDER BY count() DESC LIMIT 1")
        for interval in (1, 7, 60):
            found = self.ask(panel["targets"][0]["rawSql"], {**ALL, "gpu": gpu}, interval_s=interval)
            expected = sum(row["busy_ns"] for row in self.fleet.ask("utilization", top=0, gpu=gpu).dicts())
            total = sum(row["utilization"] for row in found) * interval * 1e9
            self.assertAlmostEqual(total / expected, 1, places=6)
            self.assertTrue(all(0 < row["utilization"] <= 1 for row in found))

    def test_the_range_of_time_limits_what_is_read(self):
        """The condition reaches the table's index, through both views."""
        sql, _ = expand(gen_grafana.count_of("count()", ("service",)), ALL, self.range[0], self.range[0] + 10)
        plan = self.connection.query(f"EXPLAIN indexes = 1 {sql}", "TSVRaw").bytes().decode()
        self.assertRegex(plan, r"Min-Max")
        self.assertRegex(plan, r"Parts: 1/\d+")


class Hostile(ClickHouse):
    """Values of variables that could end a string, and spans that have them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.insert(*(document([span(number, start=START + number, trace=number, name=text, cuda__activity="kernel", cuda__kernel__name=text,
                                    cuda__step__number=number, error__type=text)],
                              service__name=text, host__name=text, hw__id=text, slurm__job__id=text)
                     for number, text in enumerate(HOSTILE, 1)))
        cls.insert(document([span(1000 + number, trace=1000 + number) for number in range(5)]))

    def test_each_value_finds_its_span(self):
        seconds = START // 10**9
        for text in HOSTILE:
            for variable in ("service", "host", "job", "gpu"):
                with self.subTest(f"{variable} {text!r}"):
                    sql, used = expand(gen_grafana.count_of("count()", (variable,)), {**ALL, variable: text}, seconds, seconds + 10)
                    self.assertEqual(used, {variable})
                    self.assertEqual(self.value(sql), 1)

    def test_all_queries_with_all_values(self):
        seconds = START // 10**9
        for number, (name, panel) in enumerate(panels()):
            # All queries have the same filters, which the test above has with all values.
            for text in HOSTILE[:6] if os.environ.get("CUSPAN_LONG") else [HOSTILE[4 + number % 2]]:
                with self.subTest(f"{name}: {panel['title']} {text!r}"):
                    sql, used = expand(panel["targets"][0]["rawSql"], {variable: text for variable in ALL}, seconds, seconds + 10)
                    found = self.dicts(sql)
                    if panel["type"] == "table" and "trace" not in used:
                        self.assertLessEqual(len(found), 1)
                        self.assertTrue(all(row.get("name", row.get("kind", text)) in (text, None) for row in found) or "host" in found[0], found)
                    if "trace" in used:
                        self.assertEqual(found, [])
        self.assertEqual(self.value("SELECT count() FROM cuspan.stored_spans"), len(HOSTILE) + 5)

    def test_values_are_offered_as_they_are(self):
        seconds = START // 10**9
        sql, _ = expand(gen_grafana.options("service"), ALL, seconds, seconds + 10)
        self.assertEqual({row["value"] for row in self.dicts(sql)}, {"*", "a", *HOSTILE})


class Model(unittest.TestCase):
    """The JSON."""

    def test_every_panel_is_explained(self):
        self.assertEqual(set(DASHBOARDS), {"fleet", "job", "gpu", "request", "engine"})
        for name, panel in panels():
            with self.subTest(f"{name}: {panel['title']}"):
                self.assertGreater(len(panel["title"]), 3)
                self.assertRegex(panel["description"], r"\.$")
                self.assertEqual([target["datasource"]["uid"] for target in panel["targets"]], ["cuspan"])
                if panel["type"] in ("stat", "timeseries"):
                    self.assertTrue(panel["fieldConfig"]["defaults"]["unit"])

    def test_columns_of_tables_exist_and_have_units(self):
        for name, panel in panels():
            for override in panel["fieldConfig"]["overrides"]:
                column = override["matcher"]["options"]
                self.assertRegex(panel["targets"][0]["rawSql"], rf"\b{column}\b", (name, panel["title"]))
                properties = {each["id"] for each in override["properties"]}
                if column.endswith(("_ns", "bytes", "share")):
                    self.assertIn("unit", properties, (name, panel["title"], column))

    def test_panels_do_not_overlap(self):
        for name, dashboard in DASHBOARDS.items():
            cells = set()
            for panel in dashboard["panels"]:
                place = panel["gridPos"]
                self.assertLessEqual(place["x"] + place["w"], 24)
                taken = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
                self.assertFalse(cells & taken, (name, panel["title"]))
                cells |= taken
            self.assertEqual(len({panel["id"] for panel in dashboard["panels"]}), len(dashboard["panels"]))

    def test_links_lead_to_dashboards(self):
        uids = {dashboard["uid"] for dashboard in DASHBOARDS.values()}
        found = re.findall(r"/d/([\w-]+)\?var-(\w+)=", json.dumps(DASHBOARDS))
        self.assertGreaterEqual(len(found), 2)
        for uid, variable in found:
            self.assertIn(uid, uids)
            dashboard = next(each for each in DASHBOARDS.values() if each["uid"] == uid)
            self.assertIn(variable, [each["name"] for each in dashboard["templating"]["list"]])


if __name__ == "__main__":
    unittest.main()
