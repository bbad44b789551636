-- Why does it fail? Labels and first signals per line, purpose, harness and weights.
select
    t.line_id,
    t.purpose,
    t.round,
    t.harness_id,
    t.weights_id,
    l.label,
    l.signal,
    count(*) as n,
    round(count(*) / sum(count(*)) over (
        partition by t.line_id, t.purpose, t.round, t.harness_id, t.weights_id
    ), 3) as share
from failure_labels as l
inner join trajectories as t on l.trajectory_id = t.trajectory_id
group by all
order by all
