-- needs: known
-- The currencies of every rate and amount up to the period's end: one, or sums mean nothing.
SELECT DISTINCT currency FROM known
WHERE type IN ('rate.known', 'storage.charged', 'footprint.charged') AND occurred_at < {period_to:Int64}
ORDER BY currency
