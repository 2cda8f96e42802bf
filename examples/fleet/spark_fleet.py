#!/usr/bin/env python3
"""Two questions of `cuspan fleet` in Apache Spark, for folders that are too large for one machine.

    pip install pyspark                       # 4.3, with Java 17 or later
    cuspan export -o fleet 'spans/*.jsonl.zst'
    spark_fleet.py kernels fleet              # on this machine
    spark-submit --master spark://HOST:7077 spark_fleet.py utilization s3a://bucket/fleet --json

kernels: GPU time by kernel, with quantiles that occur, as in `cuspan fleet kernels`. utilization: busy time of each process on each GPU.
Rows are equal to those of `cuspan fleet`. docs/fleet-schema.md describes the files."""

import argparse
import json

from pyspark.sql import SparkSession

# cuda.activity of the work that counts. The span around a collective's kernel, and copies of a step's spans, do not count.
KERNELS = """
SELECT first(name) AS name, count(*) AS count, sum(duration_ns) AS total_ns, sum(duration_ns) DIV count(*) AS avg_ns,
    CAST(percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ns) AS BIGINT) AS median_ns,
    CAST(percentile_disc(0.99) WITHIN GROUP (ORDER BY duration_ns) AS BIGINT) AS p99_ns,
    min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, first(kernel_full) AS full_name
FROM work WHERE activity LIKE '%kernel%'
GROUP BY coalesce(kernel_full, name)
ORDER BY total_ns DESC
"""
# Work is busy from the end of all earlier work on. Rows of one resource are one process's work on one GPU.
UTILIZATION = """
SELECT CAST(resource_id AS STRING) AS resource_id, first(device) AS device, first(host) AS host, first(pid) AS pid, count(*) AS count,
    max(end_ns) - min(start_ns) AS window_ns, sum(greatest(end_ns - greatest(start_ns, coalesce(busy_until, 0)), 0)) AS busy_ns,
    sum(duration_ns) AS total_ns
FROM (
    SELECT *, max(end_ns) OVER (PARTITION BY resource_id ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        AS busy_until
    FROM (SELECT *, start_ns + duration_ns AS end_ns FROM work)
)
GROUP BY resource_id
ORDER BY busy_ns DESC
"""
QUESTIONS = {"kernels": KERNELS, "utilization": UTILIZATION}


def ask(spark, question, folder):
    """Rows as dictionaries."""
    spark.read.parquet(f"{folder.rstrip('/')}/spans").createOrReplaceTempView("spans")
    spark.sql("""SELECT * FROM spans WHERE (device IS NOT NULL OR stream IS NOT NULL) AND activity IS NOT NULL
        AND activity <> 'collective' AND step_copy IS NULL""").createOrReplaceTempView("work")
    return [row.asDict() for row in spark.sql(QUESTIONS[question]).collect()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("question", choices=QUESTIONS)
    parser.add_argument("folder", help="folder of cuspan export, or its address")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--top", type=int, default=20, help="rows (20; 0: all)")
    options = parser.parse_args()
    spark = SparkSession.builder.appName(f"cuspan {options.question}").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = ask(spark, options.question, options.folder)
    rows = rows[: options.top] if options.top else rows
    if options.json:
        print(json.dumps({options.question: rows}, indent=1))
    else:
        for row in rows:
            print("  ".join(f"{name}={value}" for name, value in row.items()))
    spark.stop()


if __name__ == "__main__":
    main()
