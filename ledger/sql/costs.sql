-- needs: known, priced_usage, priced_loss
-- What was paid for single events, in ticks. A loss is a part of what usage was paid, shown where it was lost.
SELECT id, sum(cost) AS paid
FROM
(
    SELECT id, cost FROM priced_usage
    UNION ALL
    SELECT id, cost FROM priced_loss
    UNION ALL
    SELECT id, toInt256(amount) * 3600000 AS cost FROM known WHERE type IN ('storage.charged', 'footprint.charged')
)
WHERE id IN {ids:Array(String)}
GROUP BY id
ORDER BY id
