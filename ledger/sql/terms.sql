-- needs: known, priced_usage, priced_loss
-- The terms of the net saving that each workload causes itself; what no workload caused has the workload ''.
-- Redone work was served once and is taken out of the useful hours: it never adds to what is paid.
SELECT
    region,
    workload,
    sumIf(unit_ms, kind = 'serving') - sumIf(unit_ms, kind = 'redone') AS useful_unit_ms,
    sumIf(ns, kind = 'serving') - sumIf(ns, kind = 'redone') AS useful_ns,
    sumIf(ns, kind = 'redone') AS redone_ns,
    sumIf(ns, kind = 'restarting') AS restarting_ns,
    sumIf(ns, kind = 'idle') AS idle_ns,
    sumIf(ns, kind = 'draining') AS draining_ns,
    sumIf(cost, kind = 'serving') - sumIf(cost, kind = 'redone') AS useful_paid,
    sumIf(cost, kind = 'redone') AS redone_paid,
    sumIf(cost, kind = 'restarting') AS restarting_paid,
    sumIf(cost, kind = 'idle') AS idle_paid,
    sumIf(cost, kind = 'draining') AS draining_paid,
    sumIf(cost, paid = 'reclaimable' AND kind != 'redone') AS reclaimable_paid,
    sumIf(cost, paid = 'floor' AND kind != 'redone') AS floor_paid,
    sumIf(cost, paid = 'fallback' AND kind != 'redone') AS fallback_paid,
    sumIf(cost, paid = 'headroom' AND kind != 'redone') AS headroom_paid,
    sumIf(value, kind = 'serving') - sumIf(value, kind = 'redone') AS useful_value,
    sumIf(value, kind = 'serving' AND paid IN ('reclaimable', 'fallback'))
        - sumIf(value, kind = 'redone' AND paid IN ('reclaimable', 'fallback')) AS interruptible_value,
    sumIf(cost, kind = 'storage') AS storage,
    sumIf(cost, kind = 'footprint') AS footprint
FROM
(
    SELECT region, workload, kind, toString(paid) AS paid, unit_ms, ns, cost, value FROM priced_usage
    UNION ALL
    SELECT region, workload, kind, toString(paid) AS paid, unit_ms, ns, cost, value FROM priced_loss
    UNION ALL
    SELECT
        region, workload, if(type = 'storage.charged', 'storage', 'footprint') AS kind, '' AS paid,
        toInt256(0) AS unit_ms, toInt256(0) AS ns, toInt256(amount) * 3600000 AS cost, toInt256(0) AS value
    FROM known
    WHERE type IN ('storage.charged', 'footprint.charged')
        AND occurred_at >= {period_from:Int64} AND occurred_at < {period_to:Int64}
)
GROUP BY region, workload
