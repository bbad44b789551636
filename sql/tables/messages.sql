-- One row per message, in the order the model saw it.
-- grain: trajectory_id, position
select
    trajectory_id::varchar as trajectory_id,
    position::bigint as position,
    (payload ->> '$.turn')::bigint as turn,
    (payload ->> '$.role')::varchar as role,
    (payload ->> '$.role_raw')::varchar as role_raw,
    (payload ->> '$.author')::varchar as author,
    (payload ->> '$.content')::varchar as content_text,
    (payload ->> '$.content_state')::varchar as content_state,
    (payload ->> '$.content_json')::varchar as content_json,
    (payload ->> '$.reasoning')::varchar as reasoning_text,
    (payload ->> '$.copied_context')::boolean as copied_context
from events
where kind = 'message_added'
