-- needs: known, wasted
-- recursive
-- From each wasted event up its chain of causes, one row a step.
SELECT wasted.id AS leaf, known.id AS at, known.caused_by AS above, 0 AS depth
FROM wasted INNER JOIN known ON known.id = wasted.id
UNION ALL
SELECT climb.leaf, known.id, known.caused_by, climb.depth + 1
FROM climb INNER JOIN known ON known.id = climb.above
WHERE climb.depth < 64
