-- One line of the ledger is one row, once in effect. The key is the event's id and there is no partition: an id is the
-- only thing that can never differ between two copies of an event, so two copies always meet when rows are merged.
-- Which of two copies stays does not depend on the order in which they came (the larger digest does).
-- Times are milliseconds since the epoch, UTC; money is nanos (billionths of the currency), parsed once, here.
CREATE TABLE IF NOT EXISTS events
(
    v              UInt16,
    id             String,
    occurred_at    Int64,
    recorded_at    Int64,
    type           LowCardinality(String),
    cause          LowCardinality(String),
    caused_by      String,
    region         LowCardinality(String),
    workload       LowCardinality(String),
    pool           LowCardinality(String),
    instance       String,
    commit         LowCardinality(String),
    actor          LowCardinality(String),
    epoch          Int64,
    data           String,
    digest         UInt64 MATERIALIZED sipHash64(v, occurred_at, recorded_at, type, cause, caused_by, region, workload,
                                                 pool, instance, commit, actor, epoch, data),
    from_ms        Int64 MATERIALIZED JSONExtractInt(data, 'from_ms'),
    to_ms          Int64 MATERIALIZED JSONExtractInt(data, 'to_ms'),
    slot           Int64 MATERIALIZED JSONExtractInt(data, 'slot'),
    units          Int64 MATERIALIZED JSONExtractInt(data, 'units'),
    of_units       Int64 MATERIALIZED JSONExtractInt(data, 'of_units'),
    unit_ms        Int64 MATERIALIZED JSONExtractInt(data, 'unit_ms'),
    effective_from Int64 MATERIALIZED JSONExtractInt(data, 'effective_from'),
    use            LowCardinality(String) MATERIALIZED JSONExtractString(data, 'use'),
    paid           LowCardinality(String) MATERIALIZED JSONExtractString(data, 'paid'),
    currency       LowCardinality(String) MATERIALIZED JSONExtractString(data, 'currency'),
    rate           Int128 MATERIALIZED toInt128(toDecimal128OrZero(JSONExtractString(data, 'rate'), 9) * 1000000000),
    guaranteed     Int128 MATERIALIZED toInt128(toDecimal128OrZero(JSONExtractString(data, 'guaranteed'), 9) * 1000000000),
    amount         Int128 MATERIALIZED toInt128(toDecimal128OrZero(JSONExtractString(data, 'amount'), 9) * 1000000000),
    INDEX by_cause caused_by TYPE bloom_filter(0.01) GRANULARITY 1,
    INDEX by_instance instance TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(digest)
ORDER BY id;

-- What a batch brought, before what is already there is taken out of it. Emptied before and after use.
CREATE TABLE IF NOT EXISTS arrivals AS events ENGINE = MergeTree ORDER BY id;
