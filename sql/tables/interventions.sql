-- One row per firing of a harness component; `effect` is stamped by the loop.
-- grain: trajectory_id, position
select
    trajectory_id::varchar as trajectory_id,
    position::bigint as position,
    (payload ->> '$.turn')::bigint as turn,
    (payload ->> '$.component')::varchar as component,
    (payload ->> '$.hook')::varchar as hook,
    (payload ->> '$.effect')::varchar as effect,
    (payload ->> '$.tag')::varchar as tag,
    (payload ->> '$.detail')::varchar as detail,
    (payload ->> '$.n_unresolved')::bigint as n_unresolved
from events
where kind = 'harness_fired'
