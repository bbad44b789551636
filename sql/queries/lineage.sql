-- Where does a training example come from? Its trajectory, harness, candidate, group and events.
with judged as (
    select
        line_id,
        max_by(version, position) as version
    from gate_results
    group by line_id
)

select
    x.trajectory_id as example,
    x.sample_id as sampled_trajectory,
    x.task_id,
    x.harness_id,
    c.candidate_id,
    c.title as candidate,
    c.round as candidate_round,
    v.outcome,
    g.group_id,
    g.pattern as answered_group,
    d.dataset_id,
    list(distinct a.adapter_id) filter (where a.adapter_id is not null) as adapters,
    count(distinct e.event_id) as n_events,
    min(e.event_id) as first_event
from sft_examples as x
left join candidates as c on x.candidate_id = c.candidate_id
left join verdicts as v on c.candidate_id = v.candidate_id
left join failure_groups as g
    on
        c.line_id = g.line_id
        and c.round = g.round
        and c.manifest ->> '$.pattern' = g.pattern
left join judged as j on x.line_id = j.line_id
left join datasets as d on j.line_id = d.line_id and j.version = d.table_version
left join adapters as a on d.dataset_id = a.dataset_id
left join events as e on e.trajectory_id in (x.trajectory_id, x.sample_id)
group by all
order by x.task_id, x.trajectory_id
