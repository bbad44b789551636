-- One row per proposed harness: its parent, the files it changes, its account of itself.
-- grain: candidate_id
select
    line_id::varchar as line_id,
    round::bigint as round,
    (payload ->> '$.candidate_id')::varchar as candidate_id,
    (payload ->> '$.spec_id')::varchar as spec_id,
    (payload ->> '$.harness_id')::varchar as harness_id,
    (payload ->> '$.parent_id')::varchar as parent_id,
    (payload -> '$.files')::varchar[] as files,
    (payload ->> '$.manifest.title')::varchar as title,
    (payload ->> '$.manifest.tag')::varchar as tag,
    (payload ->> '$.manifest.fires')::varchar as fires,
    (payload -> '$.manifest')::varchar as manifest
from events
where kind = 'candidate_proposed'
