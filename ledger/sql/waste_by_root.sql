-- needs: wasted, climb
-- Payments that bought no lasting work, by the event at the root of their chain of causes: what one reclaim cost.
-- An event whose cause the ledger does not hold is its own root.
SELECT root, sum(wasted.paid) AS paid
FROM (SELECT leaf, argMax(at, depth) AS root FROM climb GROUP BY leaf) AS roots
INNER JOIN wasted ON wasted.id = roots.leaf
GROUP BY root
ORDER BY paid DESC, root
