-- One row per quality suite and table version: the verdict that training waits for.
-- grain: line_id, position
select
    line_id::varchar as line_id,
    (payload ->> '$.table')::varchar as table,
    (payload ->> '$.table_version')::bigint as version,
    (payload ->> '$.suite')::varchar as suite,
    (payload ->> '$.passed')::boolean as passed,
    (payload ->> '$.n_in')::bigint as n_in,
    (payload ->> '$.n_quarantined')::bigint as n_quarantined,
    (payload -> '$.failed_expectations')::varchar[] as failed_expectations,
    (payload ->> '$.limits_id')::varchar as limits_id,
    position::bigint as position
from events
where kind = 'gate_judged'
