-- needs: shared
-- Net saving per region and workload, in ticks; every column is a sum of whole numbers, nothing is rounded to a place.
SELECT
    region,
    workload,
    own_only * useful_unit_ms AS useful_unit_ms,
    own_only * useful_ns AS useful_ns,
    own_only * redone_ns AS redone_ns,
    own_only * restarting_ns AS restarting_ns,
    own_only * idle_ns + headroom_ns AS idle_ns,
    own_only * draining_ns AS draining_ns,
    own_only * useful_paid AS useful_paid,
    own_only * redone_paid AS redone_paid,
    own_only * restarting_paid AS restarting_paid,
    own_only * idle_paid + headroom_share AS idle_paid,
    own_only * draining_paid AS draining_paid,
    own_only * reclaimable_paid AS reclaimable_paid,
    own_only * floor_paid AS floor_paid,
    own_only * fallback_paid AS fallback_paid,
    own_only * headroom_paid + headroom_share AS headroom_paid,
    own_only * useful_value AS useful_value,
    own_only * interruptible_value AS interruptible_value,
    own_only * storage AS storage,
    own_only * footprint + footprint_share AS footprint,
    -- net over the guaranteed value of the interruptible useful hours, in millionths, halves away from zero;
    -- NULL where there was no useful interruptible work
    if(interruptible_value > 0,
       sign(net) * intDiv(2000000 * abs(net) + interruptible_value, 2 * greatest(interruptible_value, toInt256(1))),
       NULL) AS share_ppm
FROM
(
    SELECT
        *,
        if(workload = '', 0, 1) AS own_only,
        headroom_keys > 0 AS headroom_has_key,
        footprint_keys > 0 AS footprint_has_key,
        if(headroom_has_key,
           intDiv(headroom_pot * headroom_upto, greatest(headroom_keys, toInt256(1)))
               - intDiv(headroom_pot * (headroom_upto - headroom_key), greatest(headroom_keys, toInt256(1))),
           if(workload = '', headroom_pot, toInt256(0))) AS headroom_share,
        if(headroom_has_key,
           intDiv(headroom_pot_ns * headroom_upto, greatest(headroom_keys, toInt256(1)))
               - intDiv(headroom_pot_ns * (headroom_upto - headroom_key), greatest(headroom_keys, toInt256(1))),
           if(workload = '', headroom_pot_ns, toInt256(0))) AS headroom_ns,
        if(footprint_has_key,
           intDiv(footprint_pot * footprint_upto, greatest(footprint_keys, toInt256(1)))
               - intDiv(footprint_pot * (footprint_upto - footprint_key), greatest(footprint_keys, toInt256(1))),
           if(workload = '', footprint_pot, toInt256(0))) AS footprint_share,
        own_only * (useful_value - own - storage - footprint) - headroom_share - footprint_share AS net
    FROM
    (
        SELECT
            *,
            sum(headroom_key) OVER (PARTITION BY region) AS headroom_keys,
            sum(headroom_key) OVER (PARTITION BY region ORDER BY workload ROWS UNBOUNDED PRECEDING) AS headroom_upto,
            sum(footprint_key) OVER (PARTITION BY region) AS footprint_keys,
            sum(footprint_key) OVER (PARTITION BY region ORDER BY workload ROWS UNBOUNDED PRECEDING) AS footprint_upto
        FROM shared
    )
)
WHERE workload != '' OR headroom_share != 0 OR headroom_ns != 0 OR footprint_share != 0
ORDER BY region, workload
