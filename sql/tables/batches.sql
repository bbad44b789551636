-- One row per serving session of a measurement batch; two sessions mean it was resumed.
-- grain: batch_id, session_id
select
    (payload ->> '$.batch_id')::varchar as batch_id,
    (payload ->> '$.session_id')::varchar as session_id,
    line_id::varchar as line_id,
    (payload ->> '$.host')::varchar as host,
    (payload ->> '$.model')::varchar as model,
    (payload ->> '$.in_flight')::bigint as in_flight,
    occurred_at::timestamptz as opened_at
from events
where kind = 'batch_opened'
