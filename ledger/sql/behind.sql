-- needs: known, billed
-- The events behind one number of a report, by the filter that the report's row gives, and the rates that price them.
SELECT id FROM
(
    SELECT id, occurred_at, 0 AS rank FROM known
    WHERE region = {region:String}
        AND type IN {types:Array(String)}
        AND workload IN {workloads:Array(String)}
        AND ({pool:String} = '' OR pool = {pool:String})
        AND ({cause:String} = '' OR cause = {cause:String})
        AND if(type = 'usage.recorded',
               from_ms < {period_to:Int64} AND to_ms > {period_from:Int64}
                   AND (empty({uses:Array(String)}) OR has({uses:Array(String)}, use))
                   AND (empty({paid:Array(String)}) OR has({paid:Array(String)}, paid)),
               occurred_at >= {period_from:Int64} AND occurred_at < {period_to:Int64}
                   AND (empty({paid:Array(String)}) OR type != 'work.lost'
                        OR instance IN (SELECT instance FROM billed WHERE has({paid:Array(String)}, paid))))
    UNION ALL
    SELECT id, occurred_at, 1 AS rank FROM known
    WHERE type = 'rate.known' AND effective_from < {period_to:Int64} AND pool IN
    (
        SELECT pool FROM known
        WHERE region = {region:String} AND type IN {types:Array(String)} AND workload IN {workloads:Array(String)}
            AND ({pool:String} = '' OR pool = {pool:String})
            AND type IN ('usage.recorded', 'work.lost')
    )
)
ORDER BY rank, occurred_at, id
