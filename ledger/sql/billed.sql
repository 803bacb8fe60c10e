-- needs: known
-- One row for each instance that the provider billed: from its first start to its first true end, on the provider's time,
-- or else to its last loss after which it was not found again, or on to the period's end while it runs; clipped to the
-- period.
SELECT
    began.instance AS instance,
    began.region AS region,
    began.workload AS workload,
    began.pool AS pool,
    began.units AS holds,
    began.paid AS paid,
    began.at AS started_at,
    greatest(began.at, {period_from:Int64}) AS billed_from,
    least(multiIf(ended.at > 0, ended.at, lost.at > 0, lost.at, {period_to:Int64}), {period_to:Int64}) AS billed_to
FROM
(
    SELECT
        instance,
        argMin(region, (occurred_at, id)) AS region,
        argMin(workload, (occurred_at, id)) AS workload,
        argMin(pool, (occurred_at, id)) AS pool,
        argMin(known.units, (occurred_at, id)) AS units,
        argMin(known.paid, (occurred_at, id)) AS paid,
        min(occurred_at) AS at
    FROM known
    WHERE type = 'instance.started'
    GROUP BY instance
) AS began
LEFT JOIN
(
    SELECT instance, min(occurred_at) AS at
    FROM known
    WHERE type = 'instance.ended'
        AND (instance, occurred_at) NOT IN (SELECT instance, to_ms FROM known WHERE type = 'instance.found')
    GROUP BY instance
) AS ended ON began.instance = ended.instance
LEFT JOIN
(
    SELECT
        instance,
        maxIf(occurred_at, type = 'instance.lost') AS at,
        maxIf(occurred_at, type = 'instance.found') AS found_at
    FROM known
    WHERE type IN ('instance.lost', 'instance.found')
    GROUP BY instance
    HAVING at > found_at
) AS lost ON began.instance = lost.instance
