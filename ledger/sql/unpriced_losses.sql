-- needs: known, priced_loss
-- Lost work that cannot be priced: its instance never started, or its pool had no rate then.
SELECT id FROM known
WHERE type = 'work.lost' AND occurred_at >= {period_from:Int64} AND occurred_at < {period_to:Int64}
    AND id NOT IN (SELECT id FROM priced_loss)
ORDER BY id
