-- needs: billed, places, rates
-- What the provider charges: each instance's billed time at the rates of the pools it stood in, from starts, moves and
-- ends alone; `pool` is the first of them. `billed_ms` without a rate in force is not in `priced_ms`.
SELECT
    billed.instance AS instance,
    any(billed.region) AS region,
    any(billed.workload) AS workload,
    any(billed.pool) AS pool,
    any(billed.paid) AS paid,
    any(billed.holds) AS holds,
    any(billed.billed_to - billed.billed_from) AS billed_ms,
    sum(greatest(least(places.placed_to, rates.rate_to) - greatest(places.placed_from, rates.rate_from), 0) AS part)
        AS priced_ms,
    sum(toInt256(part) * rates.rate) AS ticks
FROM billed
INNER JOIN places ON billed.instance = places.instance
LEFT JOIN rates ON places.pool = rates.pool
WHERE billed.billed_to > billed.billed_from
GROUP BY billed.instance
ORDER BY instance
