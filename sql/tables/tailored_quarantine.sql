-- One row per trajectory that could not be converted, with the reason and the failed checks.
-- grain: sample_id
select
    (payload ->> '$.sample_id')::varchar as sample_id,
    line_id::varchar as line_id,
    (payload ->> '$.replay_id')::varchar as replay_id,
    (payload ->> '$.reason')::varchar as reason,
    (payload -> '$.edits')::varchar as edits,
    (payload -> '$.checks')::varchar as checks
from events
where kind = 'trajectory_refused'
