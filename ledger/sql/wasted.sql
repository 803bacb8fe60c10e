-- needs: priced_usage, priced_loss
-- Each event that was paid for and did no lasting work, with what was paid.
SELECT id, sum(cost) AS paid
FROM
(
    SELECT id, cost FROM priced_usage WHERE kind != 'serving'
    UNION ALL
    SELECT id, cost FROM priced_loss
)
GROUP BY id
