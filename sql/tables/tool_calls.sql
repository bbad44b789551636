-- One row per tool call, joined with its result by our own call key.
-- grain: trajectory_id, position
with returned as (
    select
        trajectory_id,
        payload ->> '$.call_key' as call_key,
        any_value(payload order by position) as payload
    from events
    where kind = 'tool_returned' and payload ->> '$.call_key' is not null
    group by all
)

select
    c.trajectory_id::varchar as trajectory_id,
    c.position::bigint as position,
    (c.payload ->> '$.turn')::bigint as turn,
    (c.payload ->> '$.call_key')::varchar as call_key,
    (c.payload ->> '$.id_raw')::varchar as id_raw,
    (c.payload ->> '$.name')::varchar as name,
    (c.payload ->> '$.author')::varchar as author,
    (c.payload ->> '$.component')::varchar as component,
    (c.payload ->> '$.arguments_raw')::varchar as arguments_raw,
    (c.payload ->> '$.arguments_json')::varchar as arguments_json,
    (c.payload ->> '$.arguments_state')::varchar as arguments_state,
    (r.call_key is not null)::boolean as answered,
    (r.payload ->> '$.env_output')::varchar as result_text,
    (r.payload ->> '$.agent_view')::varchar as agent_view,
    (r.payload ->> '$.ok')::boolean as ok,
    (r.payload ->> '$.error')::varchar as error,
    (r.payload ->> '$.truncated')::boolean as truncated,
    (r.payload ->> '$.pairing_rule')::varchar as pairing_rule
from events as c
left join returned as r
    on c.trajectory_id = r.trajectory_id and c.payload ->> '$.call_key' = r.call_key
where c.kind = 'tool_called'
