-- Rollouts that a decision rests on are development tasks; other splits are run to report only.
select
    trajectory_id,
    purpose,
    split
from trajectories
where
    line_id is not null
    and purpose in ('anchor', 'candidate', 'collect', 'smoke', 'replay')
    and split is distinct from 'development'
