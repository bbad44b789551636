-- Why does it fail? Labels and first signals per line, purpose, harness and weights.
with counted as (
    select
        t.line_id,
        t.purpose,
        t.round,
        t.harness_id,
        t.weights_id,
        l.label,
        l.signal,
        count(*) as n
    from failure_labels as l
    inner join trajectories as t on l.trajectory_id = t.trajectory_id
    group by all
)

select
    *,
    round(
        n / sum(n) over (partition by line_id, purpose, round, harness_id, weights_id), 3
    ) as share
from counted
order by all
