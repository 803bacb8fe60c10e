-- Every event once, as far as it was recorded by the stated time: a closed period is read as of its closing.
SELECT
    id, occurred_at, recorded_at, type, cause, caused_by, region, workload, pool, instance, actor,
    from_ms, to_ms, slot, units, of_units, unit_ms, effective_from, use, paid, currency, rate, guaranteed, amount
FROM events FINAL
WHERE recorded_at <= {known_by:Int64}
