-- One row per sample rewritten for the seed harness; `trajectory_id` is its replay, at full score.
-- grain: sample_id
select
    (payload ->> '$.replay_id')::varchar as trajectory_id,
    line_id::varchar as line_id,
    (payload ->> '$.sample_id')::varchar as sample_id,
    (payload ->> '$.seed_harness_id')::varchar as seed_harness_id,
    json_array_length(payload, '$.edits')::bigint as n_edits,
    (payload -> '$.edits')::varchar as edits,
    (payload -> '$.checks')::varchar as checks,
    (payload ->> '$.replay_digest')::varchar as replay_digest,
    (payload ->> '$.replay_score')::double as replay_score
from events
where kind = 'trajectory_tailored'
