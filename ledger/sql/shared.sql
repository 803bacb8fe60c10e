-- needs: terms
-- The terms with the keys by which a region's unused headroom and its footprint are shared.
--   headroom   by what a workload paid for floor and fallback, whose place it keeps free; by all it paid where nobody did
--   footprint  by all that a workload paid
-- Workloads stand in the order of their names; each takes the part of the pot between the cumulated key before it and
-- its own, rounded towards zero, so that the parts add up to the pot. A pot without any key stays with workload ''.
SELECT
    *,
    useful_paid + redone_paid + restarting_paid + idle_paid + draining_paid AS own,
    if(workload = '', toInt256(0), own) AS footprint_key,
    if(workload = '', toInt256(0), floor_paid + fallback_paid) AS kept_key,
    sum(kept_key) OVER (PARTITION BY region) AS kept_keys,
    if(kept_keys > 0, kept_key, footprint_key) AS headroom_key,
    sum(if(workload = '', headroom_paid, toInt256(0))) OVER (PARTITION BY region) AS headroom_pot,
    sum(if(workload = '', useful_ns + redone_ns + restarting_ns + idle_ns + draining_ns, toInt256(0)))
        OVER (PARTITION BY region) AS headroom_pot_ns,
    sum(if(workload = '', footprint, toInt256(0))) OVER (PARTITION BY region) AS footprint_pot
FROM terms
