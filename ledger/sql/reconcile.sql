-- needs: known, invoice, priced_usage
-- Instances for which usage and invoice disagree: in money, in slot-time, or because time had no rate.
SELECT
    instance,
    sum(invoiced) AS invoice_ticks,
    sum(used) AS usage_ticks,
    sum(billed_slot_ms) AS billed_unit_ms,
    sum(used_slot_ms) AS used_unit_ms,
    sum(unpriced) AS unpriced_ms
FROM
(
    SELECT
        instance, ticks AS invoiced, toInt256(0) AS used, toInt256(billed_ms) * holds AS billed_slot_ms,
        toInt256(0) AS used_slot_ms, billed_ms - priced_ms AS unpriced
    FROM invoice
    UNION ALL
    SELECT instance, toInt256(0), cost, toInt256(0), toInt256(0), toInt64(0) FROM priced_usage
    UNION ALL
    SELECT
        instance, toInt256(0), toInt256(0), toInt256(0),
        toInt256(least(to_ms, {period_to:Int64}) - greatest(from_ms, {period_from:Int64})) * units, toInt64(0)
    FROM known
    WHERE type = 'usage.recorded' AND from_ms < {period_to:Int64} AND to_ms > {period_from:Int64}
)
GROUP BY instance
HAVING invoice_ticks != usage_ticks OR billed_unit_ms != used_unit_ms OR unpriced_ms != 0
ORDER BY instance
