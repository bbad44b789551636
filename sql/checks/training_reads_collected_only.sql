-- Training examples come from collected rollouts on the development split, and from nothing else.
select
    x.trajectory_id,
    t.purpose,
    t.split
from sft_examples as x
left join trajectories as t on x.sample_id = t.trajectory_id
where t.purpose is distinct from 'collect' or t.split is distinct from 'development'
