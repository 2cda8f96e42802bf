#!/usr/bin/env python3
"""Bytes a day, cores and cost of deploy/fleet, computed from measured figures and from your prices. Everything is a product:

    bytes a day = GPUs * spans a second of a GPU * share of time it works * 86,400 * bytes a span
    cores       = GPUs * spans a second of a GPU / spans a second of a core, summed over the stages
    cost a month = cores * 730 * price of a core for an hour + bytes kept / 10^9 * price of a GB for a month

    fleet_sizing.py [--rate SPANS/S]... [--gpus N]... [--price-core N] [--price-gb N] [--days-kafka N] [--days-store N] ..."""

import argparse

# Spans a second of one GPU that works all the time: of the recordings, as docs/fleet-tier.md explains.
RATES = {
    "requests, one span each (`detail: summary`)": 577 / 0.140,
    "requests, every call and kernel (`detail: default`)": 4561 / 0.140,
    "the same, 1 % of the requests": 4561 / 0.140 / 100,
    "inference, every call and kernel (`detail: default`)": 1087 / 0.936,
    "the same, `detail: full`": 13950 / 0.936,
    "training, every step (`steps.traced: all`)": 650 / 0.0718,
    "training, one step in 64 (default)": 650 / 0.0718 / 64,
}


def size(count):
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.0f} PB" if count < 1e6 else f"{count:.3g} PB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, action="append", help="spans a second of one GPU, instead of the recordings'")
    parser.add_argument("--gpus", type=int, action="append")
    parser.add_argument("--busy", type=float, default=1.0, help="share of the time in which GPUs work")
    parser.add_argument("--kafka-bytes", type=float, default=KAFKA_BYTES, help="bytes a span in Kafka, of one copy")
    parser.add_argument("--copies", type=int, default=3, help="of each message in Kafka")
    parser.add_argument("--store-bytes", type=float, default=STORE_BYTES)
    parser.add_argument("--core-rate", type=float, default=CORE_RATE, help="spans a second of one core, through all stages")
    parser.add_argument("--days-kafka", type=float, default=3)
    parser.add_argument("--days-store", type=float, default=7)
    parser.add_argument("--price-core", type=float, default=0.0, help="of a core for an hour")
    parser.add_argument("--price-gb", type=float, default=0.0, help="of a GB for a month")
    options = parser.parse_args()
    rates = {f"{rate:,.0f} spans/s": rate for rate in options.rate} if options.rate else RATES
    with_cost = options.price_core or options.price_gb
    print("| work of each GPU | spans/s of a GPU | GPUs | spans a day | Kafka, a day | store, a day | cores |" + (" a month |" if with_cost else ""))
    print("|---|---|---|---|---|---|---|" + ("---|" if with_cost else ""))
    for name, rate in rates.items():
        for gpus in options.gpus or (1, 64, 1024):
            spans = gpus * rate * options.busy * 86400
            cores = gpus * rate * options.busy / options.core_rate
            kafka, store = spans * options.kafka_bytes * options.copies, spans * options.store_bytes
            kept = kafka * options.days_kafka + store * options.days_store
            cost = cores * 730 * options.price_core + kept / 1e9 * options.price_gb
            print(f"| {name} | {rate:,.0f} | {gpus:,} | {spans:.2g} | {size(kafka)} | {size(store)} | {cores:.2g} |" +
                  (f" {cost:,.2f} |" if with_cost else ""))


# Measured by fleet_tier.py (tests/bench/RESULTS.md): the worse of two recordings.
KAFKA_BYTES, STORE_BYTES, CORE_RATE = 25.3, 33.6, 10_300.0

if __name__ == "__main__":
    main()
