-- One row per round: what its proposer was allowed to read.
-- grain: package_id
select
    line_id::varchar as line_id,
    round::bigint as round,
    (payload ->> '$.package_id')::varchar as package_id,
    (payload -> '$.package')::varchar as package
from events
where kind = 'evidence_packaged'
