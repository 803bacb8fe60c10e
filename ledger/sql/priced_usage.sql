-- needs: known, rates
-- Each usage, cut at the period and at every change of its pool's rate.
--   unit_ms  slot-milliseconds
--   ns       nanoseconds of the whole instance that these slots are (1 ms of all its slots is 1,000,000)
--   cost     ticks paid; value: ticks that the guaranteed rate would have cost
-- Slot s of k takes intDiv(x * (s + 1), k) - intDiv(x * s, k) of a rate x: over all slots exactly x, whatever k is.
SELECT
    usage.id AS id,
    usage.region AS region,
    usage.workload AS workload,
    usage.pool AS pool,
    usage.instance AS instance,
    usage.cause AS cause,
    usage.use AS kind,
    usage.paid AS paid,
    least(usage.to_ms, rates.rate_to, {period_to:Int64})
        - greatest(usage.from_ms, rates.rate_from, {period_from:Int64}) AS ms,
    toInt256(ms) * usage.units AS unit_ms,
    toInt256(ms) * (intDiv(1000000 * (usage.slot + usage.units), usage.of_units)
                    - intDiv(1000000 * usage.slot, usage.of_units)) AS ns,
    toInt256(ms) * (intDiv(rates.rate * (usage.slot + usage.units), usage.of_units)
                    - intDiv(rates.rate * usage.slot, usage.of_units)) AS cost,
    toInt256(ms) * (intDiv(rates.guaranteed * (usage.slot + usage.units), usage.of_units)
                    - intDiv(rates.guaranteed * usage.slot, usage.of_units)) AS value
FROM
(
    SELECT * FROM known
    WHERE type = 'usage.recorded' AND from_ms < {period_to:Int64} AND to_ms > {period_from:Int64}
) AS usage
INNER JOIN rates ON usage.pool = rates.pool AND usage.from_ms < rates.rate_to AND usage.to_ms > rates.rate_from
WHERE ms > 0
