-- needs: known, rates, billed
-- Work that has to be executed again, in the period in which it was lost, priced at the rates of that moment.
-- The three quotients are rounded down, once for each event.
SELECT
    lost.id AS id,
    lost.region AS region,
    lost.workload AS workload,
    lost.pool AS pool,
    lost.instance AS instance,
    lost.cause AS cause,
    'redone' AS kind,
    billed.paid AS paid,
    toInt64(0) AS ms,
    toInt256(lost.unit_ms) AS unit_ms,
    intDiv(toInt256(lost.unit_ms) * 1000000, billed.holds) AS ns,
    intDiv(toInt256(lost.unit_ms) * rates.rate, billed.holds) AS cost,
    intDiv(toInt256(lost.unit_ms) * rates.guaranteed, billed.holds) AS value
FROM
(
    SELECT * FROM known
    WHERE type = 'work.lost' AND occurred_at >= {period_from:Int64} AND occurred_at < {period_to:Int64}
) AS lost
INNER JOIN billed ON lost.instance = billed.instance
INNER JOIN rates ON lost.pool = rates.pool AND lost.occurred_at >= rates.rate_from AND lost.occurred_at < rates.rate_to
