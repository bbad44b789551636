-- One row per reading of the rule: which lever comes next, by which branch, and why.
-- grain: stream_id, position
select
    stream_id::varchar as stream_id,
    position::bigint as position,
    line_id::varchar as line_id,
    round::bigint as round,
    (payload ->> '$.harness_id')::varchar as harness_id,
    (payload ->> '$.weights_id')::varchar as weights_id,
    (payload ->> '$.split')::varchar as split,
    (payload ->> '$.lever')::varchar as lever,
    (payload ->> '$.branch')::varchar as branch,
    (payload ->> '$.reason')::varchar as reason,
    (payload ->> '$.next_command')::varchar as next_command,
    (payload -> '$.figures')::varchar as evidence,
    occurred_at::timestamptz as made_at
from events
where kind = 'diagnosis_made'
