-- One row per repair, guess, drop or unknown found while importing.
-- grain: stream_id, position
select
    stream_id::varchar as stream_id,
    position::bigint as position,
    (payload ->> '$.severity')::varchar as severity,
    (payload ->> '$.code')::varchar as code,
    (payload ->> '$.location')::varchar as location,
    (payload ->> '$.message')::varchar as message
from events
where kind = 'issue_noted'
