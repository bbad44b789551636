-- One row per sample that could not be converted, and why; `trajectory_id` is its replay, if any.
-- grain: sample_id
select
    (payload ->> '$.replay_id')::varchar as trajectory_id,
    line_id::varchar as line_id,
    (payload ->> '$.sample_id')::varchar as sample_id,
    (payload ->> '$.reason')::varchar as reason,
    (payload -> '$.edits')::varchar as edits,
    (payload -> '$.checks')::varchar as checks
from events
where kind = 'trajectory_refused'
