-- needs: priced_usage, priced_loss
-- What was paid and did no lasting work, with its name and cause: a breakdown of the payments, never a further cost.
SELECT
    region,
    workload,
    pool,
    kind,
    cause,
    sum(ns) AS ns,
    sum(cost) AS paid,
    uniqExact(id) AS events
FROM
(
    SELECT id, region, workload, pool, kind, cause, ns, cost FROM priced_usage WHERE kind != 'serving'
    UNION ALL
    SELECT id, region, workload, pool, kind, cause, ns, cost FROM priced_loss
)
GROUP BY region, workload, pool, kind, cause
ORDER BY paid DESC, region, workload, pool, kind, cause
