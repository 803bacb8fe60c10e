-- needs: known
-- The rate in force, per pool, from `rate_from` up to and not including `rate_to`: the one with the latest
-- effective-from that has begun; of two with the same effective-from, the one recorded later.
SELECT
    pool,
    rate_from,
    leadInFrame(rate_from, 1, toInt64(9223372036854775807)) OVER (
        PARTITION BY pool ORDER BY rate_from ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS rate_to,
    rate,
    guaranteed
FROM
(
    SELECT
        pool,
        effective_from AS rate_from,
        argMax(known.rate, (recorded_at, id)) AS rate,
        argMax(known.guaranteed, (recorded_at, id)) AS guaranteed
    FROM known
    WHERE type = 'rate.known'
    GROUP BY pool, effective_from
)
