-- One row per closed round of a line: which harness it leaves behind.
-- grain: line_id, round
select
    line_id::varchar as line_id,
    round::bigint as round,
    (payload ->> '$.harness_id')::varchar as harness_id,
    (payload ->> '$.outcome')::varchar as outcome,
    (payload ->> '$.reason')::varchar as reason
from events
where kind = 'round_closed'
