-- One row per modification specification.
-- grain: spec_id
select
    line_id::varchar as line_id,
    round::bigint as round,
    (payload ->> '$.spec_id')::varchar as spec_id,
    (payload ->> '$.package_id')::varchar as package_id,
    (payload ->> '$.proposer')::varchar as proposer,
    (payload -> '$.spec')::varchar as spec
from events
where kind = 'spec_written'
