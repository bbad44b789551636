-- A tailored trajectory's replay ran under the seed harness and has the full score.
select
    d.sample_id,
    d.trajectory_id,
    t.score
from tailored as d
left join trajectories as t on d.trajectory_id = t.trajectory_id
where
    t.score is distinct from 1.0
    or t.purpose is distinct from 'replay'
    or t.harness_id is distinct from d.seed_harness_id
