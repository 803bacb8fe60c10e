-- needs: known, billed
-- Where each billed instance stood: its first pool from its start, then each pool that it was moved to, until the next
-- move; clipped to what is billed. Of two moves at one moment the one with the larger id holds.
SELECT
    billed.instance AS instance,
    stood.pool AS pool,
    greatest(stood.since, billed.billed_from) AS placed_from,
    least(stood.until, billed.billed_to) AS placed_to
FROM billed
INNER JOIN
(
    SELECT
        instance,
        pool,
        since,
        leadInFrame(since, 1, toInt64(9223372036854775807)) OVER (
            PARTITION BY instance ORDER BY since, moved, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS until
    FROM
    (
        SELECT instance, pool, started_at AS since, 0 AS moved, '' AS id FROM billed
        UNION ALL
        SELECT known.instance, known.pool, known.occurred_at, 1, known.id
        FROM known
        INNER JOIN billed ON known.instance = billed.instance
        WHERE known.type = 'instance.moved' AND known.occurred_at >= billed.started_at
    )
) AS stood ON billed.instance = stood.instance
WHERE placed_to > placed_from
