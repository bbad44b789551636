-- One row per score; a score may be a number, a text or a JSON value.
-- grain: trajectory_id, position
select
    trajectory_id::varchar as trajectory_id,
    position::bigint as position,
    (payload ->> '$.scorer')::varchar as scorer,
    (payload ->> '$.key')::varchar as key,
    (payload ->> '$.primary')::boolean as is_primary,
    (payload ->> '$.value_num')::double as value_num,
    (payload ->> '$.value_text')::varchar as value_text,
    (payload ->> '$.value_json')::varchar as value_json,
    (payload ->> '$.trustworthy')::boolean as trustworthy
from events
where kind = 'scored'
