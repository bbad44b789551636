-- One row per check that a scorer made on its way to a score; NULL does not apply.
-- grain: trajectory_id, position, name
select
    e.trajectory_id::varchar as trajectory_id,
    e.position::bigint as position,
    (e.payload ->> '$.scorer')::varchar as scorer,
    (c.value ->> '$.name')::varchar as name,
    (c.value ->> '$.passed')::boolean as passed,
    (c.value ->> '$.detail')::varchar as detail
from events as e, json_each(e.payload, '$.checks') as c
where e.kind = 'scored'
