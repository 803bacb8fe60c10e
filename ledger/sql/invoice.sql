-- needs: billed, rates
-- What the provider charges: each instance's billed time at its pool's rate, from starts and ends alone. `billed_ms`
-- without a rate in force is not in `priced_ms`.
SELECT
    billed.instance AS instance,
    any(billed.region) AS region,
    any(billed.workload) AS workload,
    any(billed.pool) AS pool,
    any(billed.paid) AS paid,
    any(billed.holds) AS holds,
    any(billed.billed_to - billed.billed_from) AS billed_ms,
    sum(greatest(least(billed.billed_to, rates.rate_to) - greatest(billed.billed_from, rates.rate_from), 0) AS part)
        AS priced_ms,
    sum(toInt256(part) * rates.rate) AS ticks
FROM billed
LEFT JOIN rates ON billed.pool = rates.pool
WHERE billed.billed_to > billed.billed_from
GROUP BY billed.instance
ORDER BY instance
